-- replicate of a negative number.
-- ==
-- input { 1i64 }
-- output { [7] }
-- input { -3i64 }
-- error: R0104.*-3

def main (n: i64): []i32 = replicate n 7i32
