-- The condition of a while loop consumes.
-- ==
-- error: E0209

def main (xs: *[]i32) = loop xs while (xs with [0] = 1)[0] > 0 do xs
