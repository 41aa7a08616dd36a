-- Irregular inner sizes on two levels.
-- ==
-- input { 0i64 }
-- output { empty([0]i64) }
-- input { 1i64 }
-- output { [0i64] }
-- input { 2i64 }
-- output { [0i64, 0i64] }
-- input { 17i64 }
-- output {
--   [0i64, 0i64, 1i64, 4i64, 10i64, 20i64, 35i64, 56i64, 84i64, 120i64, 165i64, 220i64, 286i64, 364i64,
--   455i64, 560i64, 680i64]
-- }

def main (n: i64): [n]i64 = map (\i -> i64.sum (map (\j -> i64.sum (iota (j + 1))) (iota i))) (iota n)
