-- Inner failures of an outer map without elements.
-- ==
-- input { empty([0][3]i32) 0 }
-- output { empty([0]i32) }
-- input { empty([3][0]i32) 0 }
-- output { [0, 0, 0] }
-- input { [[46, 0], [-45, 10]] 0 }
-- error: R0102

def main (xss: [][]i32) (y: i32): []i32 = map (\r -> i32.sum (map (/ y) r)) xss
