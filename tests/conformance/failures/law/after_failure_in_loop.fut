-- A failure in a later round, after parallel work.
-- ==
-- input { [10, 20, 30] 2i64 }
-- output { [60, 110, 30] }
-- input { [10, 20, 30] 4i64 }
-- error: R0101.*index \[3\]

def main (xs: *[]i32) (n: i64): []i32 = loop xs for i < n do let s = i32.sum xs in let xs[i] = s in xs
