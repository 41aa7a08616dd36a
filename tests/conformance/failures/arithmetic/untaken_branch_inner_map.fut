-- The same around a map.
-- ==
-- input { false [10, 20, 30] 0 }
-- output { [10, 20, 30] }
-- input { true [10, 20, 30] 10 }
-- output { [1, 2, 3] }
-- input { true [10, 20, 30] 0 }
-- error: R0102

def main (b: bool) (xs: []i32) (y: i32): []i32 = if b then map (/ y) xs else xs
