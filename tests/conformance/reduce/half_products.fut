-- Products of halves, summed in f32: exact products, tensor cores on a GPU.
-- ==
-- entry: main
-- input { [[1f16, 2f16, 3f16], [3f16, 4f16, 5f16]] [[1f16, 2f16], [3f16, 4f16], [5f16, 6f16]] }
-- output { [[22f32, 28f32], [40f32, 52f32]] }
-- input { empty([2][0]f16) empty([0][2]f16) } output { [[0f32, 0f32], [0f32, 0f32]] }
-- random input { [7][13]f16 [13][5]f16 } auto output

entry main [n][p][m] (xss: [n][p]f16) (yss: [p][m]f16): [n][m]f32 =
  map (\xs -> map (\ys -> f32.sum (map2 (\x y -> f32.f16 x * f32.f16 y) xs ys)) (transpose yss)) xss
