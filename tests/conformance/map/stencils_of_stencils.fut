-- Stencils of stencils, with and without ends, and what all points read of a row and a column that they overwrite.
-- ==
-- entry: twice
-- input { [[1f64, 2f64, 4f64, 8f64], [3f64, 9f64, 27f64, 81f64], [1f64, 1f64, 2f64, 3f64], [5f64, 8f64, 13f64, 21f64]] }
-- auto output

-- ==
-- entry: inside
-- input { [[1f64, 2f64, 4f64, 8f64, 1f64], [3f64, 9f64, 27f64, 81f64, 2f64], [1f64, 1f64, 2f64, 3f64, 3f64], [5f64, 8f64, 13f64, 21f64, 4f64],
--   [1f64, 0f64, 1f64, 0f64, 5f64]] }
-- auto output

-- ==
-- entry: paths
-- input { [[0i64, 7i64, 1i64], [2i64, 0i64, 9i64], [9i64, 3i64, 0i64]] }
-- output { [[0i64, 4i64, 1i64], [2i64, 0i64, 3i64], [5i64, 3i64, 0i64]] }

-- ==
-- entry: turned
-- input { [[1i64, 2i64, 3i64], [4i64, 5i64, 6i64]] 2i64 }
-- output { [[2i64, 8i64], [4i64, 10i64], [6i64, 12i64]] }

entry twice [n][m] (a: [n][m]f64) =
  let d = tabulate_2d n m (\i j -> if i > 0 && j > 0 && i < n - 1 && j < m - 1
                                   then a[i, j+1] + a[i, j-1] + a[i+1, j] + a[i-1, j] - 4 * a[i, j]
                                   else 0)
  in tabulate_2d n m (\i j -> if i > 0 && j > 0 && i < n - 1 && j < m - 1
                              then d[i, j+1] + d[i, j-1] + d[i+1, j] + d[i-1, j] - 4 * d[i, j]
                              else 0)
entry inside [n][m] (a: [n][m]f64) =
  let d = tabulate_2d (n - 2) (m - 2) (\i j -> a[i, j+1] + a[i+2, j+1] + a[i+1, j] + a[i+1, j+2] - 4 * a[i+1, j+1])
  in tabulate_2d (n - 4) (m - 4) (\i j -> d[i, j+1] + d[i+2, j+1] + d[i+1, j] + d[i+1, j+2] - 4 * d[i+1, j+1])
entry paths [n] (d: [n][n]i64) =
  loop d = copy d for k < n do d with [:, :] = tabulate_2d n n (\i j -> i64.min d[i, j] (d[i, k] + d[k, j]))

entry turned [n][m] (xss: [n][m]i64) (k: i64): [m][n]i64 =
  transpose (map (\xs -> map (\x -> x * k) xs) xss)
