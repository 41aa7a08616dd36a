-- Branches of two sizes have a third.
-- ==
-- error: E0203

def main (b: bool) (n: i64) (m: i64) : [n]i64 = if b then iota n else iota m
