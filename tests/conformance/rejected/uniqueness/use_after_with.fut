-- The old name after an update.
-- ==
-- error: E0209

def main (xs: *[]i32) = let ys = xs with [0] = 1 in (ys, xs)
