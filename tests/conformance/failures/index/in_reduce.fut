-- A reduction's map reads outside.
-- ==
-- input { [10, 20, 30] 3i64 }
-- output { 60 }
-- input { [10, 20, 30] 4i64 }
-- error: R0101.*index \[3\]
-- input { [10, 20, 30] 0i64 }
-- output { 0 }

def main (xs: []i32) (n: i64): i32 = reduce (+) 0 (map (\i -> xs[i]) (iota n))
