-- copy works on anything.
-- ==
-- input { 3 [46, 0, -45] }
-- output { 3 [46, 0, -45] 3 }
-- input { 3 empty([0]i32) }
-- output { 3 empty([0]i32) 3 }

def main (x: i32) (xs: []i32): (i32, []i32, i32) = let (a, b) = copy (x, xs) in (copy x, b, a)
