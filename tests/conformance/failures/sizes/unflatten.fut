-- unflatten of a number of elements that does not fit.
-- ==
-- input { [46, 0, -45, 10, -36, 20] 2i64 3i64 }
-- output { [[46, 0, -45], [10, -36, 20]] }
-- input { [46, 0, -45, 10, -36, 20, -26] 2i64 3i64 }
-- error: R0105
-- input { empty([0]i32) 0i64 5i64 }
-- output { empty([0][5]i32) }

def main (xs: []i32) (n: i64) (m: i64): [n][m]i32 = unflatten (xs :> [n * m]i32)
