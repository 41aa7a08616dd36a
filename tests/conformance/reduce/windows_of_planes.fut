-- Sums over the first dimension of a part of each plane.
-- ==
-- input { [[[1, 2], [3, 4]], [[5, 6], [7, 8]]] } output { [[6], [10]] }
-- random input { [70][3][9]i32 } auto output

entry main [l] [n] [m] (x: [l][n][m]i32) : [n][]i32 =
  tabulate_2d n (m - 1) (\i j -> i32.sum (tabulate l (\k -> x[k, i, j])))
