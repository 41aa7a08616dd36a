-- The second part gives the first one on: both have the size that the body says of the second.
-- ==
-- error: E0203

entry main [n] (k: i64) (x: [n]i64) (y: [n]i64): [n]i64 =
  (loop (b, a) = (y, x) for i < k do
     let d = map2 (+) (iota n) a
     in (filter (> 2) d, b)).0
