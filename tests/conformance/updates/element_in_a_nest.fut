-- Elements of rows that are written in a loop with a scan of the row, always or on one side of a branch, in range or not.
-- ==
-- entry: always
-- input { 3i64 [[5, 1, 2, 0], [7, 7, 7, 7]] [1i64, 3i64] } auto output
-- input { 0i64 [[5, 1, 2, 0]] [9i64] } auto output
-- ==
-- entry: blind
-- input { 2i64 [[5, 1, 2, 0], [7, 7, 7, 7]] [1i64, 3i64] } auto output
-- input { 1i64 [[5, 1, 2, 0]] [4i64] } error: index \[4\] out of bounds for array of shape \[4\]
-- input { 1i64 [[5, 1, 2, 0]] [-1i64] } error: index \[-1\] out of bounds for array of shape \[4\]
-- ==
-- entry: sometimes
-- input { 4i64 [[5, 1, 2], [0, 0, 0], [1, 2, 3]] } auto output

def row [n] (steps: i64) (xs: [n]i32) (i: i64): ([n]i32, i32) =
  loop (xs, s) = (copy xs, 0) for _q < steps do
    let s' = reduce (+) 0 xs
    in (xs with [i] = xs[i] / 2 + s' % 13, s + s')

entry always [b][n] (steps: i64) (xss: [b][n]i32) (is: [b]i64): ([b][n]i32, [b]i32) =
  unzip (map2 (row steps) xss is)

def larger (a: i32, i: i64) (c: i32, j: i64): (i32, i64) = if a > c || (a == c && i < j) then (a, i) else (c, j)

def selection [n] (steps: i64) (xs: [n]i32): ([n]i32, [steps]i32, i64) =
  loop (xs, found, count) = (copy xs, replicate steps 0, 0) for q < steps do
    let (x, i) = reduce larger (0, n) (zip xs (iota n))
    in if x > 0 then (xs with [i] = 0, found with [q] = x, count + 1) else (xs, found, count)

entry sometimes [b][n] (steps: i64) (xss: [b][n]i32): ([b][n]i32, [b][steps]i32, [b]i64) =
  unzip3 (map (selection steps) xss)

entry blind [b][n] (steps: i64) (xss: [b][n]i32) (is: [b]i64): [b][n]i32 =
  map2 (\xs i -> loop xs = copy xs for _q < steps do xs with [i] = reduce (+) 0 xs) xss is
