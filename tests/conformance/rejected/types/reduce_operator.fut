-- An operator whose result is of another type.
-- ==
-- error: E0208

def main (xs: []i32) = reduce (\a b -> (a, b)) 0 xs
