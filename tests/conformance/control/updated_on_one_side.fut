-- A branch leaves an array as it was, or updates it: in loops, beside swaps, in rows, and where both sides are copies.
-- ==
-- entry: taken_out
-- input { 3i64 [[5, 1, 4, 1], [2, 2, 9, 0]] } output { [[1i64, 3i64, 2i64], [3i64, 0i64, 1i64]] [[5, 99, 99, 99], [99, 99, 9, 99]] }
-- input { 0i64 [[7, 8]] } output { empty([1][0]i64) [[7, 8]] }
-- input { 3i64 [[100, 100]] } output { [[-1i64, -1i64, -1i64]] [[100, 100]] }
-- ==
-- entry: swapped
-- input { 5i64 [[1, 2, 3], [10, 20, 30]] } output { [[1, 0, 3], [1, 0, 3]] }
-- input { 7i64 [[1, 2, 3], [10, 20, 30]] } output { [[10, 0, 30], [10, 0, 30]] }
-- ==
-- entry: kept
-- input { [true, false] [[1, 2], [3, 4]] } output { [[1, 2], [3, 4]] [[7, 2], [3, 7]] }

def least [n] (xs: [n]i32): i64 =
  (reduce_comm (\(x, i) (y, j) -> if i < 0 then (y, j) else if j < 0 then (x, i)
                                  else if x < y || (x == y && i < j) then (x, i) else (y, j))
               (i32.highest, -1) (zip xs (iota n))).1

-- The least k times, taken out.
entry taken_out [m][n] (k: i64) (xss: [m][n]i32): ([m][k]i64, [m][n]i32) =
  unzip (map (\xs -> loop (found, left) = (replicate k (-1), copy xs) for q < k do
                       let i = least left
                       in if i < 0 || left[i] >= 99 then (found, left)
                          else (copy found with [q] = i, copy left with [i] = 99)) xss)

-- Two arrays change places in one branch, and one of them is updated in the other.
entry swapped (n: i64) (xss: [2][3]i32): [2][3]i32 =
  map (\d -> let (a, b) = loop (a: [3]i32, b: [3]i32) = (copy xss[d], copy xss[1 - d]) for q < n do
                            if q % 3 == 0 then (b, a) else (a, copy b with [q % 3 * q % 3] = 0)
             in map2 (\x y -> if d == 0 then x else y) a b) (iota 2)

-- What one side updates is a copy, and the array itself is used afterwards.
entry kept [m][n] (cs: [m]bool) (xss: [m][n]i32): ([m][n]i32, [m][n]i32) =
  unzip (map2 (\c xs -> let ys = if c then copy xs with [0] = 7 else copy xs with [n - 1] = 7
                        in (xs, ys)) cs xss)
