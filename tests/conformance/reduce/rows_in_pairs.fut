-- Sums over two rows of one matrix for each point.
-- ==
-- entry: pairs
-- input { [[1, 2], [3, 4], [5, 6]] } output { [17, 25, 17] }
-- random input { [9][40]i32 } auto output

entry pairs [n] [m] (a: [n][m]i32) : [n]i32 = tabulate n (\i -> i32.sum (map2 (*) a[i] a[n - 1 - i]))
