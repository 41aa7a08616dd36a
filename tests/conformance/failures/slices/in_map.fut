-- A window that leaves the array.
-- ==
-- input { [10, 20, 30] 1i64 }
-- output { [10, 20, 30] }
-- input { [10, 20, 30] 0i64 }
-- output { [0, 0, 0] }
-- input { [5] 2i64 }
-- error: R0101
-- input { empty([0]i32) 3i64 }
-- output { empty([0]i32) }

def main [n] (xs: [n]i32) (w: i64): []i32 = map (\i -> i32.sum xs[i:i + w]) (iota n)
