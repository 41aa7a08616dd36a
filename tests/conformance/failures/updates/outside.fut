-- An update outside.
-- ==
-- input { [10, 20, 30] 2i64 }
-- output { [10, 20, 7] }
-- input { [10, 20, 30] 3i64 }
-- error: R0101.*index \[3\].*\[3\]
-- input { [10, 20, 30] -1i64 }
-- error: R0101.*index \[-1\]

def main (xs: *[]i32) (i: i64): []i32 = xs with [i] = 7
