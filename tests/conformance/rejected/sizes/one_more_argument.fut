-- An argument that must be one longer.
-- ==
-- error: E0203

def f [n] (xs: [n]i32) (ys: [n + 1]i32) = xs[0] + ys[0]
def main [k] (xs: [k]i32) = f xs xs
