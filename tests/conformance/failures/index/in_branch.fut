-- Only the branch that is taken fails.
-- ==
-- input { [10, 20, 30] 1i64 }
-- output { 20 }
-- input { [10, 20, 30] 7i64 }
-- output { -1 }
-- input { [10, 20, 30] -1i64 }
-- error: R0101.*index \[-1\]

def main (xs: []i32) (i: i64): i32 = if i < length xs then xs[i] else -1
