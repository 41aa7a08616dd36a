-- Neighbours at the ends of an array: clamps and conditions on the index, for arrays shorter and longer than vectors.
-- ==
-- entry: clamped
-- input { empty([0]i32) } output { empty([0]i32) }
-- input { [5] } output { [15] }
-- input { [1, 10, 100] } output { [12, 111, 210] }
-- random input { [33]i32 } auto output
-- random input { [34]i32 } auto output
-- random input { [35]i32 } auto output
-- random input { [1000]i32 } auto output
-- ==
-- entry: guarded
-- input { empty([0]i32) } output { empty([0]i32) }
-- input { [5] } output { [5] }
-- input { [1, 10, 100] } output { [11, 111, 110] }
-- random input { [40]i32 } auto output
-- random input { [777]i32 } auto output
-- ==
-- entry: bounded
-- input { 1i64 1i64 [1, 2, 3, 4] } output { [2, 2, 2, 2] }
-- input { -9223372036854775808i64 9223372036854775807i64 [1, 2, 3, 4] } output { [1, 2, 3, 4] }
-- random input { 3i64 90i64 [100]i32 } auto output
-- random input { 0i64 50i64 [100]i32 } auto output
-- random input { 60i64 40i64 [100]i32 } auto output
-- random input { 2i64 97i64 [100]i32 } auto output
-- input { -9223372036854775808i64 -9223372036854775808i64 [7] } error: out of bounds
-- ==
-- entry: rows
-- random input { [3][70]i32 } auto output
-- random input { [40][5]i32 } auto output
-- random input { [2][300]i32 } auto output
-- ==
-- entry: far
-- input { [1, 2, 3] } error: out of bounds
-- random input { [64]i32 } error: out of bounds
-- ==
-- entry: shifted
-- random input { 0i64 0i64 [6][70]i32 } auto output
-- random input { 1i64 -2i64 [6][70]i32 } error: out of bounds
-- random input { 0i64 3i64 [6][70]i32 } error: out of bounds
-- random input { 0i64 40i64 [6][70]i32 } error: out of bounds
-- random input { -1i64 0i64 [6][70]i32 } error: out of bounds
-- random input { 6i64 0i64 [6][3]i32 } error: out of bounds
-- input { 7i64 0i64 empty([0][70]i32) } output { empty([0][70]i32) }
-- ==
-- entry: sometimes
-- random input { [70]bool [70]i32 } auto output
-- input { [false, false, true, false] [1, 2, 3, 4] } error: out of bounds
-- input { [false, true, false, false] [1, 2, 3, 4] } output { [2, 8, 5, 11] }

entry clamped [n] (xs: [n]i32): [n]i32 =
  tabulate n (\i -> xs[i64.max 0 (i - 1)] + xs[i] + xs[i64.min (n - 1) (i + 1)])

entry guarded [n] (xs: [n]i32): [n]i32 =
  map (\i ->
         let left = if i == 0 then 0 else xs[i - 1]
         let right = if i + 1 < n then xs[i + 1] else 0
         in if 0 < i && i < n - 1 then left + xs[i] + right else left + xs[i] + right)
      (iota n)

-- The bounds are values: they may lie anywhere.
entry bounded [n] (low: i64) (high: i64) (xs: [n]i32): [n]i32 =
  tabulate n (\i -> xs[i64.max low (i64.min high i)])

-- A sum of a varying number of neighbours in every row, with a loop and local variables.
entry rows [n][m] (xss: [n][m]i32): [n][m]i32 =
  let of_row (xs: [m]i32) (j: i64) =
    let (sum, _) = loop (sum, k) = (0, i64.max 0 (j - 2)) while k <= i64.min (m - 1) (j + 2) do (sum + xs[k], k + 1)
    in if j == m - 1 then -sum else sum
  in map (\xs -> tabulate m (of_row xs)) xss

-- The middle fails: no element may be lost to the cut.
entry far [n] (xs: [n]i32): [n]i32 =
  tabulate n (\i -> xs[i64.max 0 (i + 1)])

-- Checks beside clamps: of the same row for all places of a line, and of places that are to the left and the right.
entry shifted [n][m] (down: i64) (along: i64) (xss: [n][m]i32): [n][m]i32 =
  let other i = if i == n - 1 then 0 else i + down
  in tabulate_2d n m (\i j -> xss[other i, i64.max 0 (j - 1)] + xss[i, j] + xss[other i, i64.min (m - 1) (j + 1) + along])

-- A check that not every place makes.
entry sometimes [n] (which: [n]bool) (xs: [n]i32): [n]i32 =
  tabulate n (\i -> xs[i64.max 0 (i - 1)] + xs[i] + (if which[i] then xs[i + 2] else 0)
                    + (if which[i] then 1 else if i == n - 1 then xs[i] else 0))
