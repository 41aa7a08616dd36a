-- Rows of a few elements that read those beside them, with ends in both directions.
-- ==
-- entry: inner
-- input { [[1, 2, 3], [4, 5, 6], [7, 8, 9]] } output { [[1, 2, 3], [4, -4, 6], [7, 8, 9]] }
-- random input { [70][5]i32 } auto output
-- random input { [3][40]i32 } auto output
-- ==
-- entry: ring
-- input { [[1i16, 2i16, 3i16], [4i16, 5i16, 6i16]] } output { [[3i16, -3i16, 0i16], [3i16, -3i16, 0i16]] }
-- random input { [70][8]i16 } auto output
-- ==
-- entry: held
-- input { [[1, 2, 3], [4, 5, 6]] } output { [[-2, -3, -4], [4, 3, 2]] }
-- random input { [65][6]i32 } auto output

entry inner [n] [m] (x: [n][m]i32) : [n][m]i32 =
  tabulate_2d n m (\i j ->
    if 1 <= i && i <= n - 2 && j >= 1 && j <= m - 2 then x[i - 1, j] - x[i, j + 1] else x[i, j])

entry ring [n] [m] (x: [n][m]i16) : [n][m]i16 =
  tabulate_2d n m (\i j ->
    x[i, (j + m - 1) % m] - x[(i + n - 1) % n, j] - x[i, (j + 1) % m] + x[(i - 1) % n, (j - 1) % m])

entry held [n] [m] (x: [n][m]i32) : [n][m]i32 =
  tabulate_2d n m (\i j ->
    x[i, i64.max 0 (j - 1)] + x[i, i64.min (m - 1) (j + 1)] - x[i64.max 0 (i - 1), j] - x[i64.min (n - 1) (i + 1), j])
