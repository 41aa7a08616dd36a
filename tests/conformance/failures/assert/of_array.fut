-- An assertion on a whole array.
-- ==
-- input { [10, 20, 30] }
-- output { 60 }
-- input { [1, -1] }
-- error: R0103
-- input { empty([0]i32) }
-- output { 0 }

def main (xs: []i32): i32 = assert (all (> 0) xs) (i32.sum xs)
