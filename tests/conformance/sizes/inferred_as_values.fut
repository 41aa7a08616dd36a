-- Sizes that the type asks for become values: unflatten, split, rep, replicate by type.
-- ==
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49] }
-- output {
--   [[46, 0, -45, 10], [-36, 20, -26, 30], [-16, 39, -6, 49]] [46, 0, -45, 10, -36] [20, -26, 30, -16, 39,
--   -6, 49] [true, true, true, true, true, true]
-- }
-- input { [12, -34, 22, -24, 32, -14, 41, -4, -50, 6, -40, 15] }
-- output {
--   [[12, -34, 22, -24], [32, -14, 41, -4], [-50, 6, -40, 15]] [12, -34, 22, -24, 32] [-14, 41, -4, -50, 6,
--   -40, 15] [true, true, true, true, true, true]
-- }

def main (xs: [12]i32): ([3][4]i32, [5]i32, [7]i32, [6]bool) =
  let (a, b) = split (xs :> [5 + 7]i32) in (unflatten (xs :> [3 * 4]i32), a, b, rep true)
