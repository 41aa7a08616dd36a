-- What one branch consumes and the other hands on goes over to the result, which may be consumed in turn.
-- ==
-- entry: update
-- input { true [4, 5] 7 }
-- output { [1, 7] }
-- input { false [4, 5] 7 }
-- output { [4, 7] }
-- ==
-- entry: both
-- input { true [1, 2] [3, 4] }
-- output { [9, 2] [8, 4] }
-- input { false [1, 2] [3, 4] }
-- output { [8, 2] [9, 4] }
-- ==
-- entry: matched
-- input { 0 [6, 7] }
-- output { [0, 1] }
-- input { 1 [6, 7] }
-- output { [6, 1] }
-- input { 2 [6, 7] }
-- output { [7, 1] }
-- ==
-- entry: called
-- input { 0i64 }
-- output { [5i64] }
-- input { 3i64 }
-- output { [0i64, 1i64, 2i64] }

entry update (c: bool) (xs: *[]i32) (v: i32): []i32 =
  let ys = if c then xs with [0] = 1 else xs
  in ys with [1] = v

entry both (c: bool) (xs: *[2]i32) (ys: *[2]i32): ([2]i32, [2]i32) =
  let (as, bs) = if c then (xs with [0] = 9, ys) else (xs, ys with [0] = 9)
  in if c then (as, bs with [0] = 8) else (as with [0] = 8, bs)

entry matched (k: i32) (xs: *[2]i32): [2]i32 =
  let ys =
    match k
    case 0 -> xs with [0] = 0
    case 1 -> xs
    case _ -> xs with [0] = xs[1]
  in ys with [1] = 1

def five (xs: *[]i64): *[]i64 = if null xs then [5] else xs

entry called (n: i64): []i64 =
  let xs = iota n
  in if n == 0 then five xs else xs
