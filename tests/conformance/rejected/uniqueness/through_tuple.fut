-- An alias in a tuple.
-- ==
-- error: E0209

def main (xs: *[]i32) = let t = (xs, 1) let ys = xs with [0] = 1 in (t.0, ys)
