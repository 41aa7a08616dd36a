-- One element of a map reads outside.
-- ==
-- input { [10, 20, 30] [0i64, 2i64] }
-- output { [11, 31] }
-- input { [10, 20, 30] [0i64, 5i64, 1i64] }
-- error: R0101.*index \[5\].*\[3\]
-- input { [10, 20, 30] empty([0]i64) }
-- output { empty([0]i32) }

def main (xs: []i32) (is: []i64): []i32 = map (\i -> xs[i] + 1) is
