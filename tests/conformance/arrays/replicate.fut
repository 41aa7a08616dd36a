-- replicate of scalars and of rows.
-- ==
-- input { 0i64 empty([0]i32) }
-- output { empty([0]bool) empty([0][0]i32) }
-- input { 0i64 [46, 0, -45] }
-- output { empty([0]bool) empty([0][3]i32) }
-- input { 3i64 empty([0]i32) }
-- output { [true, true, true] empty([3][0]i32) }
-- input { 1i64 [46] }
-- output { [true] [[46]] }
-- input { 3i64 [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output {
--   [true, true, true] [[46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23], [46, 0,
--   -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23], [46, 0, -45, 10, -36, 20, -26, 30,
--   -16, 39, -6, 49, 4, -42, 13, -32, 23]]
-- }

def main (n: i64) (xs: []i32): ([]bool, [][]i32) = (replicate n true, replicate n xs)
