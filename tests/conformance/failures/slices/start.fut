-- A slice from before the start.
-- ==
-- input { [10, 20, 30] 3i64 }
-- output { empty([0]i32) }
-- input { [10, 20, 30] 4i64 }
-- error: R0101
-- input { [10, 20, 30] -1i64 }
-- error: R0101

def main (xs: []i32) (k: i64): []i32 = xs[k:]
