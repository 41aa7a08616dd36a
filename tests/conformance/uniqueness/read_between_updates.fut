-- What was read before an update does not change.
-- ==
-- input { [46] }
-- output { [2] [2] 1i64 46 1 }
-- input { [46, 0, -45] }
-- output { [2, 0, -45] [2, 1, -44] 3i64 46 -44 }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output {
--   [2, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] [2, 1, -44, 11, -35, 21, -25,
--   31, -15, 40, -5, 50, 5, -41, 14, -31, 24] 17i64 46 -14
-- }

def main (xs: *[]i32) = let n = length xs let a = xs[0] let xs[0] = 1 let ys = map (+ 1) xs let b = i32.sum xs let xs[0] = 2 in (xs, ys, n, a, b)
