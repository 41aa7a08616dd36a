-- A table of binomials, updated in two loops.
-- ==
-- input { 0i64 }
-- output { empty([0][0]i64) }
-- input { 1i64 }
-- output { [[1i64]] }
-- input { 2i64 }
-- output { [[1i64, 0i64], [1i64, 1i64]] }
-- input { 10i64 }
-- output {
--   [[1i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64], [1i64, 1i64, 0i64, 0i64, 0i64, 0i64,
--   0i64, 0i64, 0i64, 0i64], [1i64, 2i64, 1i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64], [1i64, 3i64,
--   3i64, 1i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64], [1i64, 4i64, 6i64, 4i64, 1i64, 0i64, 0i64, 0i64, 0i64,
--   0i64], [1i64, 5i64, 10i64, 10i64, 5i64, 1i64, 0i64, 0i64, 0i64, 0i64], [1i64, 6i64, 15i64, 20i64, 15i64,
--   6i64, 1i64, 0i64, 0i64, 0i64], [1i64, 7i64, 21i64, 35i64, 35i64, 21i64, 7i64, 1i64, 0i64, 0i64], [1i64,
--   8i64, 28i64, 56i64, 70i64, 56i64, 28i64, 8i64, 1i64, 0i64], [1i64, 9i64, 36i64, 84i64, 126i64, 126i64,
--   84i64, 36i64, 9i64, 1i64]]
-- }

def main (n: i64): [n][n]i64 =
  loop t = replicate n (replicate n 0) for i < n do
    let t[i, 0] = 1
    in loop t for j < i do t with [i, j + 1] = t[i - 1, j] + t[i - 1, j + 1]
