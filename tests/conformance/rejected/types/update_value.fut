-- An update with a value of another type.
-- ==
-- error: E0202

def main (xs: *[]i32) = xs with [0] = 1.5
