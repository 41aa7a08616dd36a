-- For each row of each matrix a sum, then a function of it, of which the least counts.
-- ==
-- input { [[[1f32, 2f32], [0f32, 0f32], [4f32, 4f32]], [[9f32, 9f32], [2f32, 2f32], [8f32, 2f32]]] }
-- output { [1f32, 1f32] }
-- random input { [3][70][30]f32 } auto output

entry main [k] [m] [n] (xss: [k][m][n]f32) : [k]f32 =
  map (\xs -> f32.minimum (map (\x -> f32.exp (f32.min 0 (f32.maximum x))) xs)) xss
