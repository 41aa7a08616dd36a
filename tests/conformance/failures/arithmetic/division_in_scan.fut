-- Division by zero in a scanned array.
-- ==
-- input { [10, 20] }
-- output { [10, 15] }
-- input { [0, 10] }
-- error: R0102

def main (xs: []i32): []i32 = scan (+) 0 (map (100 /) xs)
