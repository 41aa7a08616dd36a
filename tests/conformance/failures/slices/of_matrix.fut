-- A slice out of bounds: the message has the whole index.
-- ==
-- entry: rows
-- input { [[1, 2, 3], [4, 5, 6]] 1i64 0i64 } error: R0101.*index \[0:2, 1:0\] out of bounds for array of shape \[2\]\[3\]
-- input { [[1, 2, 3], [4, 5, 6]] 1i64 3i64 } output { [[2, 3], [5, 6]] }
-- ==
-- entry: part
-- input { [[1, 2, 3], [4, 5, 6]] 1i64 2i64 } output { [6] }
-- input { [[1, 2, 3], [4, 5, 6]] 1i64 4i64 } error: R0101.*index \[1, 4:3\]
entry rows (xss: [][]i32) (i: i64) (j: i64) = xss[0:2, i:j]
entry part (xss: [][]i32) (i: i64) (j: i64) = xss[i, j:]
