-- What a `for` counts through does not see the loop parameter, also of the same name.
-- ==
-- entry: range
-- input { 5i16 } output { 5i16 }
-- ==
-- entry: elements
-- input { [1, 2, 3] } output { 6i64 }
-- ==
-- entry: count
-- input { 3 } output { 3i64 }
-- ==
-- entry: copied
-- input { [3, 1, 2] } output { [9, 1, 2] }
entry range (x: i16) = loop x = 0 for i in -x..<x do x - i
entry elements (x: []i32) = loop x = 0i64 for i in x do x + i64.i32 i
entry count (x: i32) = loop x = 0i64 for i < x do x + i64.i32 i
entry copied (x: *[]i32) = loop x for i in copy x do x with [0] = x[0] + i
