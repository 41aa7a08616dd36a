-- One array consumed twice in one expression.
-- ==
-- error: E0209

def f (xs: *[]i32): i32 = (xs with [0] = 1)[0]
def main (xs: *[]i32) = f xs + f xs
