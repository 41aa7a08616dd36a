-- What a map gives of each element as a literal is binned, or scattered, without an array of it; places out of range are ignored.
-- ==
-- entry: edges
-- input { 3i64 [0i64, 1i64, 2i64] [1i64, 2i64, 3i64] [1f64, 2f64, 4f64] }
-- output { [1f64, 4f64, 8f64] }
-- input { 3i64 empty([0]i64) empty([0]i64) empty([0]f64) }
-- output { [0f64, 0f64, 0f64] }
-- ==
-- entry: around
-- input { 2i64 3i64 [0i64, 1i64, 1i64] [0i64, 2i64, 5i64] }
-- output { [[1i32, 2i32, 4i32], [3i32, 0i32, 1i32]] }
-- ==
-- entry: marks
-- input { 5i64 [0i64, 3i64] }
-- output { [1u8, 1u8, 0u8, 1u8, 1u8] }

entry edges [m] (n: i64) (us: [m]i64) (vs: [m]i64) (ws: [m]f64): [n]f64 =
  reduce_by_index (replicate n 0) (+) 0 (flatten (map2 (\u v -> [u, v]) us vs)) (flatten (map (\w -> [w, 2 * w]) ws))

entry around [m] (h: i64) (w: i64) (is: [m]i64) (js: [m]i64): [h][w]i32 =
  let at = map2 (\i j -> [(i, j), (i, j + 1), (i + 1, j), (i - 1, j)]) is js
  let values = map (\i -> [1, 2, 3, i32.i64 (4 * i)]) is
  in reduce_by_index_2d (replicate h (replicate w 0i32)) (+) 0 (flatten at) (flatten values)

entry marks [m] (n: i64) (is: [m]i64): [n]u8 =
  scatter (replicate n 0u8) (flatten (map (\i -> [i, i + 1]) is)) (flatten (map (\_ -> [1u8, 1]) is))
