-- One array for two unique parameters.
-- ==
-- error: E0209

def f (xs: *[]i32) (ys: *[]i32) = (xs, ys)
def main (xs: *[]i32) = f xs xs
