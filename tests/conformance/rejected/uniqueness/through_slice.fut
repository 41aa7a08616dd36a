-- A slice of the consumed array.
-- ==
-- error: E0209

def main (xs: *[]i32) = let part = xs[1:3] let xs[1] = 7 in (part, xs)
