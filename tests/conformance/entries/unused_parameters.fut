-- Parameters that are not used.
-- ==
-- input { [46, 0, -45] 4 true }
-- output { 4 }
-- input { empty([0]i32) 4 false }
-- output { 4 }

def main (_: []i32) (x: i32) (_unused: bool) = x
