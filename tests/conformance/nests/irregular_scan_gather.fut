-- An irregular scan whose elements are picked.
-- ==
-- input { empty([0]i64) }
-- output { empty([0]i64) }
-- input { [5i64] }
-- output { [60i64] }
-- input {
--   [5i64, 2i64, 0i64, 10i64, 7i64, 5i64, 2i64, 0i64, 10i64, 7i64, 5i64, 2i64, 0i64, 10i64, 7i64, 5i64,
--   2i64]
-- }
-- output {
--   [60i64, 2i64, 0i64, 570i64, 182i64, 60i64, 2i64, 0i64, 570i64, 182i64, 60i64, 2i64, 0i64, 570i64,
--   182i64, 60i64, 2i64]
-- }

def main [n] (ks: [n]i64): [n]i64 = map (\k -> let xs = scan (\a b -> i64.max a b) 0 (map (+ k) (iota k)) in i64.sum (map (\i -> xs[k - 1 - i] * i) (iota k))) ks
