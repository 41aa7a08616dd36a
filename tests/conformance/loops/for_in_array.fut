-- A loop over the elements of an array.
-- ==
-- input { empty([0]i32) }
-- output { 1 }
-- input { [46] }
-- output { 49 }
-- input { [46, 0, -45] }
-- output { 396 }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { 1893452318 }

def main (xs: []i32): i32 = loop acc = 1 for x in xs do acc * 3 + x
