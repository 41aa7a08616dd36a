-- Parts that share data may be read as often as one likes.
-- ==
-- input { 0i64 }
-- output { empty([0]i64) empty([0]i64) }
-- input { 1i64 }
-- output { [0i64] [1i64] }
-- input { 17i64 }
-- output {
--   [0i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 14i64, 15i64,
--   16i64] [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 14i64, 15i64,
--   16i64, 17i64]
-- }

def f (n: i64) = let a = iota n in (a, a)
def main (n: i64) = let (p, q) = f n in (p, map (+ 1) q)
