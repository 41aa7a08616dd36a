-- One branch gives a parameter.
-- ==
-- error: E0222

def f (b: bool) (xs: []i32): *[]i32 = if b then copy xs else xs
def main (b: bool) (xs: []i32) = f b xs
