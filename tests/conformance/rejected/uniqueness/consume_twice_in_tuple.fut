-- Both parts of a tuple consume the same array.
-- ==
-- error: E0209

def main (xs: *[]i32) = (xs with [0] = 1, xs with [0] = 2)
