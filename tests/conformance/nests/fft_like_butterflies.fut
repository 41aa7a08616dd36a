-- log n rounds of butterflies (Walsh-Hadamard transform).
-- ==
-- input { 0i64 5i64 }
-- output { [0i64] }
-- input { 1i64 5i64 }
-- output { [5i64, -5i64] }
-- input { 3i64 5i64 }
-- output { [55i64, -3i64, -23i64, -17i64, 5i64, -17i64, -17i64, 17i64] }
-- input { 6i64 5i64 }
-- output {
--   [509i64, -7i64, 3i64, -17i64, -45i64, -17i64, -51i64, 17i64, -39i64, 17i64, -17i64, -17i64, -17i64,
--   -17i64, 17i64, 17i64, 7i64, -17i64, 17i64, 17i64, 17i64, 17i64, -17i64, -17i64, -17i64, -85i64, 17i64,
--   -51i64, 17i64, -51i64, -17i64, 51i64, -3i64, 17i64, -85i64, -17i64, 51i64, -17i64, -51i64, 17i64, 17i64,
--   17i64, -17i64, 119i64, -17i64, -17i64, 17i64, 17i64, -17i64, -17i64, 17i64, -119i64, 17i64, 17i64,
--   -17i64, -17i64, -17i64, 51i64, -119i64, -51i64, 17i64, -51i64, -17i64, 51i64]
-- }

def main (p: i64) (seed: i64): []i64 = let n = 1 << p let xs = map (\i -> (i * seed) % 17) (iota n) in loop xs for r < p do map (\i -> let j = i ^ (1 << r) in if i < j then xs[i] + xs[j] else xs[j] - xs[i]) (iota n)
