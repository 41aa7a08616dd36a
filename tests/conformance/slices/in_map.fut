-- Each element reads its own window.
-- ==
-- input { [46, 0] }
-- output { empty([0]i32) }
-- input { [46, 0, -45] }
-- output { [1] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { [1, -35, -71, -6, -42, 24, -12, 53, 17, 82, 47, 11, -25, -61, 4] }

def main [n] (xs: [n]i32): []i32 = map (\i -> i32.sum xs[i:i + 3]) (iota (n - 2))
