-- A function's result may share data with its argument.
-- ==
-- error: E0209

def same (xs: []i32): []i32 = xs
def main (xs: *[]i32) = let ys = same xs let xs[0] = 1 in (ys, xs)
