-- take and drop of too much.
-- ==
-- entry: t
-- input { 4i64 [10, 20, 30] }
-- error: R010[145]
-- input { -1i64 [10, 20, 30] }
-- error: R010[145]
-- input { 3i64 [10, 20, 30] }
-- output { [10, 20, 30] }
-- ==
-- entry: d
-- input { 4i64 [10, 20, 30] }
-- error: R010[145]
-- input { 3i64 [10, 20, 30] }
-- output { empty([0]i32) }

entry t (k: i64) (xs: []i32) = take k xs
entry d (k: i64) (xs: []i32) = drop k xs
