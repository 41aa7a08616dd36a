-- A stride of zero.
-- ==
-- input { [10, 20, 30] 2i64 }
-- output { [10, 30] }
-- input { [10, 20, 30] 0i64 }
-- error: R01

def main (xs: []i32) (s: i64): []i32 = xs[0:3:s]
