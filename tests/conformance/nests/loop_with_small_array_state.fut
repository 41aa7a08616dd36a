-- In every element a loop that copies and updates a small array; the bound differs.
-- ==
-- input { 0i64 }
-- output { empty([0][3]i64) }
-- input { 1i64 }
-- output { [[0i64, 0i64, 0i64]] }
-- input { 5i64 }
-- output {
--   [[0i64, 0i64, 0i64], [0i64, 0i64, 0i64], [0i64, 1i64, 0i64], [0i64, 1i64, 2i64], [4i64, 1i64, 2i64]]
-- }
-- input { 17i64 }
-- output {
--   [[0i64, 0i64, 0i64], [0i64, 0i64, 0i64], [0i64, 1i64, 0i64], [0i64, 1i64, 2i64], [4i64, 1i64, 2i64],
--   [4i64, 6i64, 2i64], [4i64, 6i64, 9i64], [12i64, 6i64, 9i64], [12i64, 16i64, 9i64], [12i64, 16i64,
--   20i64], [25i64, 16i64, 20i64], [25i64, 30i64, 20i64], [25i64, 30i64, 36i64], [42i64, 30i64, 36i64],
--   [42i64, 49i64, 36i64], [42i64, 49i64, 56i64], [64i64, 49i64, 56i64]]
-- }

def main (n: i64) = map (\i -> loop a = [0i64, 0, 0] for j < i do (copy a) with [j % 3] = a[(j + 1) % 3] + j) (iota n)
