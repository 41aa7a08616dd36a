-- The initial value of a loop that consumes.
-- ==
-- error: E0209

def main (xs: *[]i32) = let ys = loop a = xs for i < 3 do a with [0] = i in (xs, ys)
