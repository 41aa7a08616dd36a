-- One size parameter for two arrays of different sizes.
-- ==
-- error: E0203

def f [n] (a: [n]i32) (b: [n]i32) = a[0] + b[0]
def main [k][m] (a: [k]i32) (b: [m]i32) = f a b
