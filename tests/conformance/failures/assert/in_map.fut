-- An assertion that fails in one element.
-- ==
-- input { [1, 2] }
-- output { [1, 2] }
-- input { [10, 20, 30] }
-- error: R0103
-- input { empty([0]i32) }
-- output { empty([0]i32) }

def main (xs: []i32): []i32 = map (\x -> assert (x != 20) x) xs
