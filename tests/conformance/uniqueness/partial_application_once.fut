-- A partial application that consumed its argument is called where it stands.
-- ==
-- entry: once
-- input { [46] }
-- output { [1] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { [1, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- ==
-- entry: pipe
-- input { [46] }
-- output { [5] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { [5, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- ==
-- entry: fresh
-- input { 4 } output { [1, 4, 4] }
-- ==
-- entry: in_match
-- input { [46, 4] } output { [7, 4] }

def g (xs: *[]i32) (i: i32): []i32 = xs with [0] = i
entry once (xs: *[]i32) = let h = 1 in (g xs) h
entry pipe (xs: *[]i32) = 5 |> g xs
entry fresh (x: i32) = let h = g (replicate 3 x) in h 1
entry in_match (xs: *[]i32) = match (7, g xs) case (i, h) -> h i
