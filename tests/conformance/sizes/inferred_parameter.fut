-- A size that nothing but the use of a function tells: the length of the rows that a flat array is cut into.
-- ==
-- entry: top
-- input { 2i64 [10, 20] [1, 2, 3, 4] } output { [[11, 12], [23, 24]] }
-- ==
-- entry: inside
-- input { 3i64 [1, 2] [1, 2, 3, 4, 5, 6] } output { [[2, 3, 4], [6, 7, 8]] }

def add [d] (xs: [d]i32) (ys: [d]i32) : [d]i32 = map2 (+) xs ys

def cut [d] (xs: [d]i32) (flat: []i32) =
  let rows = unflatten flat
  in transpose (map (add xs) (transpose rows))
entry top [d] (n: i64) (xs: [d]i32) (flat: [d * n]i32) : [][]i32 = cut xs flat

entry inside [d] (n: i64) (xs: [d]i32) (flat: [d * n]i32) : [][]i32 =
  let cut_local flat = transpose (map (add xs) (transpose (unflatten flat)))
  in cut_local flat
