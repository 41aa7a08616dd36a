-- A negative stride from one end to the other.
-- ==
-- input { [46, 0, -45, 10, -36, 20] }
-- output { [20, 10] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { [20, 10] }

def main (xs: []i32): []i32 = xs[5:1:-2]
