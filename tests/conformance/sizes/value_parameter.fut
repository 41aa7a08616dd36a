-- A value parameter is a size of the result.
-- ==
-- input { 0i64 }
-- output { empty([0]i32) [4] [5, 5] }
-- input { 1i64 }
-- output { [3] [4, 4] [5, 5] }
-- input { 17i64 }
-- output {
--   [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3] [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
--   4] [5, 5]
-- }

def fill (n: i64) (x: i32): [n]i32 = replicate n x
def main (n: i64) = (fill n 3, fill (n + 1) 4, fill 2 5)
