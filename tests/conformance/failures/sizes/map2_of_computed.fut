-- Two arrays whose sizes turn out to differ.
-- ==
-- input { 3i64 3i64 }
-- output { [0i64, 2i64, 4i64] }
-- input { 3i64 4i64 }
-- error: R0105

def main (n: i64) (m: i64): [n]i64 = map2 (+) (iota n) (iota m :> [n]i64)
