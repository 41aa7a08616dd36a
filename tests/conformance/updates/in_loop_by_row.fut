-- A matrix filled row by row; each row depends on the one before.
-- ==
-- input { 0i64 3i64 }
-- output { empty([0][3]i64) }
-- input { 1i64 1i64 }
-- output { [[1i64]] }
-- input { 3i64 4i64 }
-- output { [[1i64, 1i64, 1i64, 1i64], [1i64, 2i64, 3i64, 4i64], [1i64, 3i64, 6i64, 10i64]] }
-- input { 4i64 17i64 }
-- output {
--   [[1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64, 1i64],
--   [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 14i64, 15i64, 16i64,
--   17i64], [1i64, 3i64, 6i64, 10i64, 15i64, 21i64, 28i64, 36i64, 45i64, 55i64, 66i64, 78i64, 91i64, 105i64,
--   120i64, 136i64, 153i64], [1i64, 4i64, 10i64, 20i64, 35i64, 56i64, 84i64, 120i64, 165i64, 220i64, 286i64,
--   364i64, 455i64, 560i64, 680i64, 816i64, 969i64]]
-- }

def main (n: i64) (m: i64): [n][m]i64 =
  loop a = replicate n (replicate m 1) for i < n - 1 do
    a with [i + 1] = scan (+) 0 (copy a[i])
