-- An index one past the end.
-- ==
-- input { [10, 20, 30] 2i64 }
-- output { 30 }
-- input { [10, 20, 30] 3i64 }
-- error: R0101.*index \[3\].*\[3\]
-- input { [10, 20, 30] -1i64 }
-- error: R0101.*index \[-1\].*\[3\]
-- input { [10, 20, 30] 4611686018427387904i64 }
-- error: R0101.*index \[4611686018427387904\]
-- input { empty([0]i32) 0i64 }
-- error: R0101.*index \[0\].*\[0\]

def main (xs: []i32) (i: i64): i32 = xs[i]
