-- The value reads what the target has consumed.
-- ==
-- error: E0209

def main (xs: *[]i32) = (xs with [0] = 1) with [1] = xs[0]
