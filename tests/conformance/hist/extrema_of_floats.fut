-- Least and greatest floats of bins: -0 is below 0, a NaN is left out; with the place of the greatest.
-- ==
-- entry: least
-- input { [0f32, -0f32, f32.nan, 2f32] [0i64, 0i64, 1i64, 1i64] } output { [-0f32, 2f32, f32.inf] }
-- random input { [300]f32 [300]i64 } auto output
-- ==
-- entry: greatest
-- input { [-0f64, 0f64, 3f64, f64.nan] [0i64, 0i64, 2i64, 2i64] } output { [0f64, -f64.inf, 3f64] [1i64, -1i64, 2i64] }

entry least [n] (x: [n]f32) (is: [n]i64) : [3]f32 =
  reduce_by_index (replicate 3 f32.inf) f32.min f32.inf (map (% 4) is) x

entry greatest [n] (x: [n]f64) (is: [n]i64) : ([3]f64, [3]i64) =
  unzip (reduce_by_index (replicate 3 (-f64.inf, -1))
    (\(a, i) (b, j) -> if j >= 0 && (i < 0 || b >= a) then (b, j) else (a, i)) (-f64.inf, -1) is (zip x (iota n)))
