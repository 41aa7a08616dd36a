-- Size parameters are values.
-- ==
-- input { empty([0][3]i32) }
-- output { 0i64 empty([0]i64) 1i64 }
-- input { empty([3][0]i32) }
-- output { 0i64 [0i64, 0i64, 0i64] 1i64 }
-- input { [[46]] }
-- output { 1i64 [1i64] 2i64 }
-- input {
--   [[46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23], [-23, 33, -13, 43, -3, -49,
--   7, -39, 17, -29, 26, -19, 36, -10, 46, 0, -45]]
-- }
-- output { 34i64 [17i64, 17i64] 35i64 }

def main [n][m] (xss: [n][m]i32): (i64, [n]i64, i64) = (n * m, replicate n m, let f [k] (_: [k]i32) = k + 1 in f (flatten xss))
