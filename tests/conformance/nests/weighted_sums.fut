-- Weighted sums of columns with something added to each: on a GPU the sums go through tiles in the memory of a block,
-- and what follows them takes that memory again, when no thread of the block reads it any more.
-- ==
-- input { [0.5f32, -1f32, 0.25f32] [[4f32, -4f32], [3f32, 6f32], [-8f32, 8f32]] [1f32, 2f32] }
-- output { [-2f32, -4f32] }
-- input { [1f32] [[1f32, 2f32, 3f32]] [0f32, 0f32, 1f32] } output { [1f32, 2f32, 4f32] }
-- input { empty([0]f32) empty([0][2]f32) [1f32, 2f32] } output { [1f32, 2f32] }

def main [n][m] (xs: [n]f32) (weights: [n][m]f32) (biases: [m]f32): [m]f32 =
  map2 (\bias sum -> bias + sum) biases
       (map (\column -> f32.sum (map2 (*) xs column)) (transpose weights))
