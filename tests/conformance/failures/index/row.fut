-- A row that is not there.
-- ==
-- input { [[46, 0, -45], [10, -36, 20]] 1i64 }
-- output { [10, -36, 20] }
-- input { [[46, 0, -45], [10, -36, 20]] 2i64 }
-- error: R0101.*index \[2\]
-- input { empty([0][3]i32) 0i64 }
-- error: R0101

def main (xss: [][]i32) (i: i64): []i32 = xss[i]
