-- Loops over rows in a map: each point's row stays in its thread or block, or all rows take each step together. A check
-- that is the same for all points may not fail where there are none; an update must not be seen by what reads before it.
-- ==
-- entry: halves
-- input { 2i64 [[0, 1, 2, 3], [4, 5, 6, 7]] } output { [[4, 8, 8, 4], [20, 24, 24, 20]] }
-- input { 0i64 empty([0][4]i32) } output { empty([0][4]i32) }
-- input { 0i64 [[0, 1, 2, 3]] } error: assertion
-- input { 3i64 [[0, 1, 2, 3]] } error: assertion
-- ==
-- entry: sums
-- input { [[1, 2, 3], [0, 1, 0]] } output { [[6, 11, 20], [1, 2, 3]] }
-- ==
-- entry: old_values
-- input { [[1, 2, 3], [0, 0, 1]] } output { [[24, 9, 15], [4, 1, 3]] }
-- ==
-- entry: swapped
-- input { 3 [[1, 2, 3], [4, 5, 6]] } output { [[13, 12, 11], [28, 27, 26]] [[8, 7, 6], [17, 16, 15]] }

entry halves [n][m] (size: i64) (xss: [n][m]i32): [n][m]i32 =
  map (\xs -> let k = assert (0 < size && m % size == 0) (m / size)
              in loop ys = xs for _i < k do map2 (+) ys (rotate 1 ys)) xss

entry sums [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\xs -> loop ys = copy xs for i < m do ys with [i] = i32.sum ys) xss

entry old_values [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\xs -> loop ys = copy xs for i < m do
                let first = ys[0]
                let zs = ys with [0] = i32.sum ys
                in zs with [i] = first + zs[i]) xss

entry swapped [n][m] (steps: i32) (xss: [n][m]i32): ([n][m]i32, [n][m]i32) =
  unzip (map (\xs -> loop (ys, zs) = (xs, map (+ 1) xs) for _i < steps do (map2 (+) ys zs, reverse ys)) xss)
