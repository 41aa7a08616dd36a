-- Matrices without rows or columns are made and measured.
-- ==
-- input { 0i64 0i64 }
-- output { empty([0][0]i32) empty([0][0]i32) empty([0]i32) empty([0]i32) 0 }
-- input { 0i64 3i64 }
-- output { empty([0][3]i32) empty([3][0]i32) empty([0]i32) [0, 0, 0] 0 }
-- input { 3i64 0i64 }
-- output { empty([3][0]i32) empty([0][3]i32) [0, 0, 0] empty([0]i32) 0 }
-- input { 2i64 17i64 }
-- output {
--   [[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
--   1]] [[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1,
--   1], [1, 1], [1, 1], [1, 1], [1, 1]] [17, 17] [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2] 34
-- }

def main (n: i64) (m: i64) = let a = replicate n (replicate m 1i32) in (a, transpose a, map i32.sum a, map i32.sum (transpose a), i32.sum (flatten a))
