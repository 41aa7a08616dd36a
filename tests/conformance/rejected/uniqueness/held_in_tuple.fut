-- A part of a tuple is consumed by the next one.
-- ==
-- error: E0209

def main (xs: *[]i32) = (xs, xs with [0] = 5)
