-- The result of a branch that updates or hands on takes the place of the old array.
-- ==
-- input { [46] false }
-- output { 92 [46] }
-- input { [46] true }
-- output { 6 [3] }
-- input { [46, 0, -45] false }
-- output { 47 [46, 0, -45] }
-- input { [46, 0, -45] true }
-- output { -39 [3, 0, -45] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] false }
-- output { 77 [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] true }
-- output { -9 [3, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }

def main (xs: *[]i32) (c: bool) = let ys = if c then xs with [0] = 3 else xs in (i32.sum ys + ys[0], ys)
