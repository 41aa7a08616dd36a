-- scatter, reduce_by_index and update of the same array, one after the other.
-- ==
-- input { [46, 0, -45] }
-- output { [6, 6, 6] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { [6, 6, 6, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }

def main (xs: *[]i32) = let xs = scatter xs [0] [5] let xs = reduce_by_index xs (+) 0 [1, 0] [6, 1] let xs[2] = xs[0] in xs
