-- Loops that read what earlier rounds wrote: sums over all of these, stencils inside of ends, elimination, in each element of a nest.
-- ==
-- entry: earlier_rounds
-- input { [[1i64, 2i64, 3i64], [4i64, 5i64, 6i64], [7i64, 8i64, 9i64]] }
-- auto output
-- input { empty([0][0]i64) }
-- output { empty([0][0]i64) }

-- ==
-- entry: interior
-- input { 2i64 [1i64, 2i64, 3i64, 4i64, 5i64] }
-- auto output

-- ==
-- entry: interior_2d
-- input { 1i64 [[1i64, 2i64, 3i64], [4i64, 5i64, 6i64], [7i64, 8i64, 9i64]] }
-- auto output

-- ==
-- entry: eliminated
-- input { [[1i64, 2i64, 3i64], [4i64, 5i64, 6i64], [7i64, 8i64, 9i64]] }
-- auto output

-- ==
-- entry: eliminated_in_each
-- input { [[[1i64, 2i64], [3i64, 4i64]], [[5i64, 6i64], [7i64, 8i64]]] }
-- auto output

-- ==
-- entry: differences
-- input { [[1i64, 2i64, 4i64, 8i64], [3i64, 9i64, 27i64, 81i64], [1i64, 1i64, 2i64, 3i64]] }
-- auto output

entry earlier_rounds [n] (a: [n][n]i64): [n][n]i64 =
  loop y = copy a for t < n do
    let now = map (\c -> a[t, c] + i64.sum (map (\s -> a[t-s-1, 0] * y[s, c]) (iota t))) (iota n)
    let y[t] = now
    in y

entry interior [n] (t: i64) (a: *[n]i64): *[n]i64 =
  loop a for k < t do
    a with [1:n-1] = tabulate (n - 2) (\i -> a[i] + a[i+1] * k - a[i+2])

entry interior_2d [n] (t: i64) (a: *[n][n]i64): *[n][n]i64 =
  loop a for _k < t do
    a with [1:n-1, :n-2] = tabulate_2d (n - 2) (n - 2) (\i j -> a[i, j] + 2 * a[i+2, j+1] - a[i+1, j+2])

entry eliminated [n] (a: *[n][n]i64): *[n][n]i64 =
  loop a for k < n - 1 do
    let m = n - (k + 1)
    in a with [k+1:, k+1:] =
         (tabulate_2d m m (\i j -> a[k+1+i, k+1+j] - a[k+1+i, k] * a[k, k+1+j]) :> [n - (k + 1)][n - (k + 1)]i64)

entry eliminated_in_each [b][n] (as: [b][n][n]i64): [b][n][n]i64 =
  map (\a -> loop a = copy a for k < n do
               tabulate_2d n n (\i j -> if i > k && j > k then a[i, j] - a[i, k] * a[k, j] else a[i, j])) as

entry differences [n][m] (a: [n][m]i64) =
  let d = tabulate_2d n (m - 1) (\i j -> a[i, j+1] - a[i, j])
  in tabulate_2d n (m - 2) (\i j -> d[i, j+1] * d[i, j] - d[i, j+1])
