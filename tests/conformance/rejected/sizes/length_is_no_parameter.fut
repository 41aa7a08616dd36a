-- `length xs` is not written `n`.
-- ==
-- error: E0203

def main [n] (xs: [n]i32) : [n]i64 = iota (length xs)
