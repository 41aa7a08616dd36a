-- A truth value as index.
-- ==
-- error: E0202

def main (xs: []i32) = xs[true]
