-- The new value reads the old array.
-- ==
-- input { [46] }
-- output { [92] }
-- input { [46, 0, -45] }
-- output { [-44, 0, -45] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { [54, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }

def main [n] (xs: *[n]i32): [n]i32 = let v = i32.sum xs in xs with [0] = v + xs[n - 1]
