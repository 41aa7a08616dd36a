-- ==
-- entry: there_and_back
-- input { [[[[1, 2]], [[3, 4]]], [[[5, 6]], [[7, 8]]]] }
-- output { [1, 2, 3, 4, 5, 6, 7, 8] [[[[2, 3], [4, 5]]], [[[6, 7], [8, 9]]]] }
entry there_and_back (xssss: [2][2][1][2]i32) =
  let flat = flatten_4d xssss
  in (flat, unflatten_4d (map (+ 1) flat :> [2 * 1 * 2 * 2]i32))
