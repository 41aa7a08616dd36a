-- An array literal whose rows are computed.
-- ==
-- input { 2i64 2i64 }
-- output { [[0i64, 1i64], [0i64, 1i64]] }
-- input { 2i64 3i64 }
-- error: R0105

def main (a: i64) (b: i64): [][]i64 = [iota a, iota b :> [a]i64]
