-- An argument consumed by one parameter and read by another.
-- ==
-- error: E0209

def f (a: *[]i32) (b: []i32) = a with [0] = b[0]
def main (xs: *[]i32) = f xs xs
