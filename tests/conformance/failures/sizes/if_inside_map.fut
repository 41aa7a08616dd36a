-- Rows of different lengths cannot form a matrix.
-- ==
-- input { 2i64 }
-- output { [[0i64, 1i64], [0i64, 1i64]] }
-- input { 4i64 }
-- error: R0105
-- input { 0i64 }
-- output { empty([0][2]i64) }

def main (n: i64): [][]i64 = map (\i -> iota (i / 2 * 0 + if i > 2 then 3 else 2) :> [2]i64) (iota n)
