-- Slice bounds are i64.
-- ==
-- error: E0202

def main (xs: []i32) (k: i32) = xs[k:]
