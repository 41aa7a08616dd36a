-- A dynamic program in every element of a map.
-- ==
-- input { empty([0][2]i32) [3, 2, 2] }
-- output { empty([0]i64) }
-- input { empty([3][0]i32) [3, 2] }
-- output { [0i64, 0i64, 0i64] }
-- input { [[0, 0, 3], [3, 2, 1]] empty([0]i32) }
-- output { [0i64, 0i64] }
-- input { [[0]] [3] }
-- output { [0i64] }
-- input {
--   [[0, 0, 3, 3, 2, 1, 1], [0, 3, 3, 2, 2, 1, 0], [0, 3, 3, 2, 1, 1, 0]] [3, 2, 2, 1, 0, 0, 3, 3, 2, 1, 1,
--   0, 0, 3, 2, 2, 1]
-- }
-- output { [7i64, 6i64, 7i64] }

def lcs [n][m] (a: [n]i32) (b: [m]i32): i64 =
  let row = loop row = replicate (m + 1) 0i64 for x in a do
    let (row, _) = loop (row, diag) = (row, 0) for j < m do
      let old = row[j + 1]
      let row[j + 1] = if x == b[j] then diag + 1 else i64.max old row[j]
      in (row, old)
    in row
  in row[m]
def main [k][n][m] (as: [k][n]i32) (b: [m]i32): [k]i64 = map (\a -> lcs a b) as
