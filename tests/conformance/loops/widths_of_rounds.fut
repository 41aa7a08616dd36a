-- Loops whose inner widths change from round to round, 0 and 1 in some of them: of one matrix, and of a few.
-- ==
-- entry: eliminated
-- input { [[2, 1, 3], [4, 1, 2], [1, 5, 7]] }
-- output { [[2, 1, 3], [8, -7, -22], [2, -21, -461]] }
-- input { [[7]] }
-- output { [[7]] }
-- input { empty([0][0]i32) }
-- output { empty([0][0]i32) }
-- ==
-- entry: each_eliminated
-- input { [[[2, 1], [4, 1]], [[1, 0], [3, 5]]] }
-- output { [[[2, 1], [8, -7]], [[1, 0], [3, 5]]] }
-- input { empty([2][0][0]i32) }
-- output { empty([2][0][0]i32) }
-- ==
-- entry: reversed
-- input { [1, 2, 3, 4, 5] }
-- output { [5, 1, 4, 2, 3] }
-- input { [9] }
-- output { [9] }
-- ==
-- entry: deep
-- input { [1, 2, 3, 4] }
-- output { [1, 2, 4, 10] }
-- ==
-- entry: quotients
-- input { [2, 4, 1, 3] }
-- output { [4, 1, 4, 1] }
-- input { [2, 4, 0, 3] }
-- error: division by zero

def eliminate [n] (a: *[n][n]i32): *[n][n]i32 =
  loop a for k < n do
    loop a for i in k+1..<n do
      let m = n - (k + 1)
      let f = a[i, k] * a[k, k]
      let row = map2 (\x y -> x - f * y) (a[i, k+1:] :> [m]i32) (a[k, k+1:] :> [m]i32)
      let a[i, k] = f
      in a with [i, k+1:] = row

entry eliminated [n] (a: [n][n]i32): [n][n]i32 = eliminate (copy a)

entry each_eliminated [b][n] (as: [b][n][n]i32): [b][n][n]i32 = map (\a -> eliminate (copy a)) as

-- The part that is overwritten is read backwards.
entry reversed [n] (xs: [n]i32): [n]i32 =
  loop xs = copy xs for i < n do
    let m = n - i
    in xs with [i:] = reverse (xs[i:] :> [m]i32)

entry deep [n] (xs: [n]i32): [n]i32 =
  loop xs = copy xs for i < n do
    loop xs for j < i do
      loop xs for k < j do
        let s = i32.sum (xs[k:j] :> [j - k]i32)
        in xs with [i] = xs[i] + s

entry quotients [n] (xs: [n]i32): [n]i32 =
  loop xs = copy xs for i < n do
    let m = n - i
    in xs with [i] = i32.sum (map (\x -> x / xs[i]) (xs[i:] :> [m]i32))
