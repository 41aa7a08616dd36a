-- A slice of a parameter as a unique result.
-- ==
-- error: E0222

def f (xs: []i32): *[]i32 = xs[1:]
def main (xs: []i32) = f xs
