-- Arrays made inside, of an invariant size.
-- ==
-- input { empty([0]i64) 3i64 }
-- output { empty([0]i64) }
-- input { [46i64, 0i64, -45i64] 0i64 }
-- output { [0i64, 0i64, 0i64] }
-- input { [46i64] 1i64 }
-- output { [0i64] }
-- input { [46i64, 0i64, -45i64] 17i64 }
-- output { [6392i64, 136i64, -5984i64] }
-- input {
--   [46i64, 0i64, -45i64, 10i64, -36i64, 20i64, -26i64, 30i64, -16i64, 39i64, -6i64, 49i64, 4i64, -42i64,
--   13i64, -32i64, 23i64] 3i64
-- }
-- output {
--   [141i64, 3i64, -132i64, 33i64, -105i64, 63i64, -75i64, 93i64, -45i64, 120i64, -15i64, 150i64, 15i64,
--   -123i64, 42i64, -93i64, 72i64]
-- }

def main [n] (xs: [n]i64) (k: i64): [n]i64 = map (\x -> i64.sum (map2 (*) (iota k) (replicate k x)) + i64.sum (rotate 1 (iota k))) xs
