-- Division by zero in the operator's map.
-- ==
-- input { [10, 20] }
-- output { 15 }
-- input { [10, 0] }
-- error: R0102
-- input { empty([0]i32) }
-- output { 0 }

def main (xs: []i32): i32 = i32.sum (map (\x -> 100 / x) xs)
