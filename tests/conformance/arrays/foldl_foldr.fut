-- foldl and foldr.
-- ==
-- input { empty([0]i32) }
-- output { 1 1 }
-- input { [46] }
-- output { 48 -44 }
-- input { [46, 0, -45] }
-- output { 147 142 }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { 2374427 -325258 }

def main (xs: []i32): (i32, i32) = (foldl (\a x -> a * 2 + x) 1 xs, foldr (\x a -> a * 2 - x) 1 xs)
