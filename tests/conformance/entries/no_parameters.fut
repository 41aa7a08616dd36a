-- A value as an entry point.
-- ==
-- entry: answer
-- input {  }
-- output { 42 }
-- ==
-- entry: table
-- input {  }
-- output { [1i64, 2i64, 3i64] }

entry answer = 42i32
entry table : [3]i64 = [1, 2, 3]
