-- split at a place that is not there.
-- ==
-- input { [10, 20, 30] 1i64 }
-- output { [10] [20, 30] }

def main (xs: []i32) (k: i64): ([]i32, []i32) = let (a, b) = split (xs :> [k + (length xs - k)]i32) in (a :> [k]i32, b)
