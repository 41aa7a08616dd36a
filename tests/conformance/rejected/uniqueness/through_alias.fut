-- Another name of the same array.
-- ==
-- error: E0209

def main (xs: *[]i32) = let ys = xs let zs = xs with [0] = 3 in (ys, zs)
