-- Segmented sums by flags: the operator on pairs.
-- ==
-- input { empty([0]bool) empty([0]i32) }
-- output { empty([0]i32) }
-- input { [false] [46] }
-- output { [46] }
-- input { [false, false, false] [46, 0, -45] }
-- output { [46, 46, 1] }
-- input {
--   [false, false, false, true, false, false, false, false, true, false, true, true, true, true, false,
--   true, true] [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23]
-- }
-- output { [46, 46, 1, 10, -26, -6, -32, -2, -16, 23, -6, 49, 4, -42, -29, -32, 23] }
-- input {
--   [false, false, false, true, false, false, false, false, true, false, true, true, true, true, false,
--   true, true, true, true, true, true, false, true, false, false, true, false, true, false, false, false,
--   false, true, false, true, false, false, true, false, true, false, true, true, true, true, true, true,
--   true, true, true, false, true, false, true, false, false, true, false, false, false, false, false,
--   false, true, false, true, false, false, true, false, true, true, true, true, true, true, true, true,
--   true, false, true, false, true, false, false, false, false, true, false, false, false, false, true,
--   false, true, false, true, true, false, true] [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42,
--   13, -32, 23, -23, 33, -13, 43, -3, -49, 7, -39, 17, -29, 26, -19, 36, -10, 46, 0, -45, 10, -36, 20, -26,
--   29, -16, 39, -6, 49, 3, -42, 13, -32, 23, -23, 33, -13, 42, -3, -49, 7, -39, 16, -29, 26, -19, 36, -10,
--   46, 0, -46, 10, -36, 20, -26, 29, -16, 39, -6, 49, 3, -42, 13, -33, 23, -23, 33, -13, 42, -3, -49, 6,
--   -39, 16, -29, 26, -20, 36, -10, 46, 0, -46, 10, -36, 19, -26]
-- }
-- output {
--   [46, 46, 1, 10, -26, -6, -32, -2, -16, 23, -6, 49, 4, -42, -29, -32, 23, -23, 33, -13, 43, 40, -49, -42,
--   -81, 17, -12, 26, 7, 43, 33, 79, 0, -45, 10, -26, -6, -26, 3, -16, 23, -6, 49, 3, -42, 13, -32, 23, -23,
--   33, 20, 42, 39, -49, -42, -81, 16, -13, 13, -6, 30, 20, 66, 0, -46, 10, -26, -6, -26, 3, -16, 39, -6,
--   49, 3, -42, 13, -33, 23, 0, 33, 20, 42, 39, -10, -4, -43, 16, -13, 13, -7, 29, -10, 36, 0, -46, 10, -36,
--   -17, -26]
-- }

def main [n] (flags: [n]bool) (xs: [n]i32): [n]i32 =
  let op (f, x) (g, y) = (f || g, if g then y else x + y)
  in map (.1) (scan op (false, 0i32) (zip flags xs))
