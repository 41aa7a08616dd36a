-- A result declared unique that is a parameter.
-- ==
-- error: E0222

def main (xs: []i32): *[]i32 = xs
