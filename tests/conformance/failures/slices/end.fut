-- A slice past the end.
-- ==
-- input { [10, 20, 30] 3i64 }
-- output { [20, 30] }
-- input { [10, 20, 30] 1i64 }
-- output { empty([0]i32) }
-- input { [10, 20, 30] 4i64 }
-- error: R0101.*\[3\]
-- input { [10, 20, 30] 0i64 }
-- error: R0101
-- input { empty([0]i32) 1i64 }
-- output { empty([0]i32) }

def main (xs: []i32) (k: i64): []i32 = xs[1:k]
