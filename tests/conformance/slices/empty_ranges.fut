-- Ranges without elements at all legal places.
-- ==
-- input { [46, 0, -45] }
-- output { empty([0]i32) }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { empty([0]i32) }

def main (xs: []i32): []i32 = xs[0:0] ++ xs[2:2] ++ xs[3:3]
