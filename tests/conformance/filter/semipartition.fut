-- Like `partition`, but the second part is in reverse order.
-- ==
-- input { [3, 4, 8, 1, 5, 6] }
-- output { [4, 8, 6] [5, 1, 3] }
-- input { [1, 3] }
-- output { empty([0]i32) [3, 1] }
-- input { empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) }

def main (xs: []i32) = semipartition (\x -> x % 2 == 0) xs
