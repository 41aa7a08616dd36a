-- What a function gives relies on the assertion that the function stands behind.
-- ==
-- entry: section
-- input { 6 } output { 3 }
-- input { 7 } error: x % 2 == 0
-- ==
-- entry: closure
-- input { 2 [1, 2] } output { [3, 4] }
-- input { -2 [1, 2] } error: x > 0
-- ==
-- entry: in_tuple
-- input { 2 } output { 4 2 }
-- input { -2 } error: x > 0
-- ==
-- entry: several_arguments
-- input { 2 } output { 9 }
-- input { -2 } error: x > 0

entry section (x: i32) =
  let half = assert (x % 2 == 0) (x /)
  in half 2

entry closure (x: i32) (ys: []i32) = map (assert (x > 0) (\y -> x + y)) ys

entry in_tuple (x: i32) =
  let (f, y) = assert (x > 0) (\z -> z + x, x)
  in (f y, y)

entry several_arguments (x: i32) =
  let f = assert (x > 0) (\a b -> a + b + x)
  let g = f 3
  in g 4
