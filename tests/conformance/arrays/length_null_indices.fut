-- length, null, indices, of arrays with empty rows too.
-- ==
-- input { empty([0]i32) empty([0][0]i32) }
-- output { 0i64 true empty([0]i64) 0i64 true }
-- input { [46] empty([3][0]i32) }
-- output { 1i64 false [0i64] 3i64 false }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] empty([0][3]i32) }
-- output {
--   17i64 false [0i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64,
--   14i64, 15i64, 16i64] 0i64 true
-- }

def main (xs: []i32) (xss: [][]i32): (i64, bool, []i64, i64, bool) = (length xs, null xs, indices xs, length xss, null xss)
