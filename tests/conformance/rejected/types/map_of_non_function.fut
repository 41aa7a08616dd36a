-- map of a number.
-- ==
-- error: E0202

def main (xs: []i32) = map 3 xs
