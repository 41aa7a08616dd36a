-- Arguments have the sizes that the entry states, also where nothing is done with them.
-- ==
-- entry: by_value
-- input { 2i64 [1, 2] }
-- output { 2i64 }
-- input { 2i64 [1, 2, 3] }
-- error: R0105
-- ==
-- entry: by_expression
-- input { 2i64 [1, 2, 3] }
-- output { 7 }
-- input { 2i64 [1, 2] }
-- error: R0105
-- ==
-- entry: inner
-- input { 2i64 [[1, 2], [3, 4]] }
-- output { [[1, 2], [3, 4]] 0 }
-- input { 1i64 [[1, 2], [3, 4]] }
-- error: R0105

entry by_value (n: i64) (_: [n]i32) = n
entry by_expression (n: i64) (xs: [n + 1]i32) = 7i32
entry inner (n: i64) (xss: [][n]i32) = (xss, 0i32)
