-- What fails does not depend on the element, but there are no elements.
-- ==
-- input { [10, 20, 30] 5 }
-- output { [12, 22, 32] }
-- input { empty([0]i32) 0 }
-- output { empty([0]i32) }
-- input { [10, 20, 30] 0 }
-- error: R0102

def main (xs: []i32) (y: i32): []i32 = map (\x -> x + 10 / y) xs
