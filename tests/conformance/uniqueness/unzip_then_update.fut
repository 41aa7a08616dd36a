-- The parts of unzip are arrays of their own.
-- ==
-- input { 1i64 }
-- output { [7i64] [0i64] }
-- input { 17i64 }
-- output {
--   [7i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 14i64, 15i64,
--   16i64] [0i64, 2i64, 4i64, 6i64, 8i64, 10i64, 12i64, 14i64, 16i64, 18i64, 20i64, 22i64, 24i64, 26i64,
--   28i64, 30i64, 32i64]
-- }

def main (n: i64) = let (p, q) = unzip (map (\i -> (i, i * 2)) (iota n)) let p[0] = 7 in (p, q)
