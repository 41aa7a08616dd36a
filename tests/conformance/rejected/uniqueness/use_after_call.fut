-- An argument after a function has consumed it.
-- ==
-- error: E0209

def f (xs: *[]i32): []i32 = xs with [0] = 1
def main (xs: *[]i32) = let ys = f xs in (xs, ys)
