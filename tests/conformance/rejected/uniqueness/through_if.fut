-- An alias made by a branch.
-- ==
-- error: E0209

def main (b: bool) (xs: *[]i32) (zs: []i32) = let ys = if b then xs else zs let xs[0] = 1 in (ys, xs)
