-- A stride that leads away from the end.
-- ==
-- input { [10, 20, 30] 1i64 }
-- output { [10, 20] }
-- input { [10, 20, 30] -1i64 }
-- error: R0101

def main (xs: []i32) (s: i64): []i32 = xs[0:2:s]
