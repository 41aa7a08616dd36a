-- Loops of different length in two maps.
-- ==
-- input { 0i64 5 }
-- output { empty([0][0]i32) }
-- input { 1i64 5 }
-- output { [[1]] }
-- input { 8i64 20 }
-- output {
--   [[1, 2, 3, 3, 4, 13, 4, 2], [1, 3, 3, 4, 6, 20, 5, 3], [1, 3, 4, 5, 20, 20, 20, 3], [1, 4, 9, 20, 20,
--   20, 20, 4], [20, 20, 20, 20, 20, 20, 20, 4], [1, 4, 9, 20, 20, 20, 20, 4], [1, 3, 4, 5, 20, 20, 20, 3],
--   [1, 3, 3, 4, 6, 20, 5, 3]]
-- }

def main (n: i64) (limit: i32): [n][n]i32 =
  tabulate_2d n n (\i j ->
    let cr = f64.i64 j * 3 / f64.i64 n - 2 let ci = f64.i64 i * 2 / f64.i64 n - 1
    let (_, _, k) = loop (x, y, k) = (0, 0, 0) while k < limit && x * x + y * y <= 4 do (x * x - y * y + cr, 2 * x * y + ci, k + 1)
    in k)
