-- More indices than dimensions.
-- ==
-- error: E0202

def main (xs: []i32) = xs[0, 1]
