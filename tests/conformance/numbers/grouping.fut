-- Operators group as they are written, whatever their operands look like: a sum whose last operand is a product in
-- parentheses is still a sum where it is multiplied.
-- ==
-- entry: main
-- input { [1f32, 2f32, 3f32] [4f32, 5f32, 6f32] }
-- output { [20f32, 60f32, 126f32] }
-- ==
-- entry: differences
-- input { [10f32, 20f32] [3f32, 4f32] } output { [13f32, 24f32] }
-- ==
-- entry: quotients
-- input { [12f64, 30f64] [2f64, 5f64] } output { [2f64, 5f64] }

def main [n] (xs: [n]f32) (ys: [n]f32): [n]f32 =
  map2 (\x y -> (x + (y * x)) * y) xs ys

entry differences [n] (xs: [n]f32) (ys: [n]f32): [n]f32 =
  map2 (\x y -> x - (x - (x + y))) xs ys

entry quotients [n] (xs: [n]f64) (ys: [n]f64): [n]f64 =
  map2 (\x y -> x / (x / (y * 1.0))) xs ys
