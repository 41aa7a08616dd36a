-- An index of a small signed type.
-- ==
-- input { [10, 20, 30] -128i8 }
-- error: R0101.*index \[-128\]
-- input { [10, 20, 30] 1i8 }
-- output { 20 }

def main (xs: []i32) (i: i8): i32 = xs[i]
