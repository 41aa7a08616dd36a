-- An alias in a record.
-- ==
-- error: E0209

def main (xs: *[]i32) = let r = {a = xs, b = 2} let ys = xs with [0] = r.b in (r.a, ys)
