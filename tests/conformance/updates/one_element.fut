-- An element is replaced.
-- ==
-- input { [46, 0, -45, 10, -36] 0i64 99 }
-- output { [99, 0, -45, 10, -36] }
-- input { [46, 0, -45, 10, -36] 2i64 99 }
-- output { [46, 0, 99, 10, -36] }
-- input { [46, 0, -45, 10, -36] 4i64 99 }
-- output { [46, 0, -45, 10, 99] }

def main (xs: *[]i32) (i: i64) (v: i32): []i32 = xs with [i] = v
