-- tabulate of a negative number.
-- ==
-- input { 1i64 2i64 }
-- output { [[0i64, 1i64]] }
-- input { -1i64 2i64 }
-- error: R0104.*-1
-- input { 2i64 -1i64 }
-- error: R0104.*-1

def main (n: i64) (m: i64): [][]i64 = tabulate_2d n m (\i j -> i + j)
