-- A while loop's state is consumed, its initial value used after.
-- ==
-- error: E0209

def main (xs: *[]i32) = let ys = loop a = xs while a[0] < 5 do a with [0] = a[0] + 1 in xs[0] + ys[0]
