-- Points of a few elements that are computed alike, under a branch, with ends.
-- ==
-- entry: branch
-- input { [[[1, 5], [3, 4]]] } output { [[[4, -8], [-2, -5]]] }
-- random input { [3][70][2]i32 } auto output
-- ==
-- entry: scaled
-- input { [[1i16, 2i16, 3i16]] 5i16 } output { [[3i16, 11i16, 9i16]] }
-- random input { [70][3]i16 i16 } auto output

entry branch [n] [m] (x: [n][m][2]i32) : [n][m][2]i32 =
  tabulate_3d n m 2 (\i j c ->
    let a = x[i, j, c] * 3
    let b = if x[i, j, c] > 2 then 7 else 2 * a + x[i, i64.max 0 (j - 1), c]
    in b - a)

entry scaled [n] (x: [n][3]i16) (g: i16) : [n][3]i16 =
  tabulate_2d n 3 (\i c -> x[i, c] * 3 + (if c == 1 then g else 0))
