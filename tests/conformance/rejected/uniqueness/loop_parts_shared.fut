-- Two parts of a loop's initial value are one array, and one of them is consumed.
-- ==
-- error: E0209

def main (xs: *[]i32) = loop (a, b) = (xs, xs) for i < 3 do (a with [0] = b[0], b)
