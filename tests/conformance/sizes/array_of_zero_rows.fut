-- Empty arrays keep the shape of their rows.
-- ==
-- input { empty([0][3]i32) }
-- output { empty([0][3]i32) empty([3][0]i32) [0i64, 0i64, 0i64] 0i64 }
-- input { empty([3][0]i32) }
-- output { empty([0][0]i32) empty([0][0]i32) empty([0]i64) 0i64 }
-- input {
--   [[46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23], [-23, 33, -13, 43, -3, -49,
--   7, -39, 17, -29, 26, -19, 36, -10, 46, 0, -45]]
-- }
-- output {
--   empty([0][17]i32) empty([17][0]i32) [0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64,
--   0i64, 0i64, 0i64, 0i64, 0i64, 0i64] 0i64
-- }

def main [n][m] (xss: [n][m]i32) = let ys = filter (\_ -> false) xss in (ys, transpose ys, map length (transpose ys), length ys)
