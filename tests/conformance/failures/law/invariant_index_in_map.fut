-- An index that does not depend on the element, with no elements.
-- ==
-- input { empty([0]i32) empty([0]i32) 5i64 }
-- output { empty([0]i32) }
-- input { [10, 20, 30] [10, 20, 30] 1i64 }
-- output { [30, 40, 50] }
-- input { [10, 20, 30] [10, 20, 30] 3i64 }
-- error: R0101.*index \[3\]

def main (xs: []i32) (ys: []i32) (i: i64): []i32 = map (\y -> y + xs[i]) ys
