-- head and last of nothing.
-- ==
-- entry: h
-- input { empty([0]i32) }
-- error: R0101
-- input { [10, 20, 30] }
-- output { 10 }
-- ==
-- entry: l
-- input { empty([0]i32) }
-- error: R0101
-- input { [10, 20, 30] }
-- output { 30 }

entry h (xs: []i32) = head xs
entry l (xs: []i32) = last xs
