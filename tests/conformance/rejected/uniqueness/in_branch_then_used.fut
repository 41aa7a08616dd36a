-- Consumed in one branch only, used afterwards.
-- ==
-- error: E0209

def main (b: bool) (xs: *[]i32) = let ys = if b then xs with [0] = 1 else [1] in (ys, xs[0])
