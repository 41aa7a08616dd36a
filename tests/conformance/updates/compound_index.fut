-- An index that is computed, of another integer type.
-- ==
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] 3 7i8 }
-- output { [46, 0, -45, 10, -36, 20, 1, 30, 2, 39, -6, 49, 4, -42, 13, -32, 23] }

def main (xs: *[]i32) (i: i32) (j: i8): []i32 = let xs[i * 2] = 1 in xs with [j + 1i8] = 2
