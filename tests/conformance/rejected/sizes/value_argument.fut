-- A value parameter as a size, one more than the array's.
-- ==
-- error: E0203

def f (n: i64) (xs: [n]i32) = xs[0]
def main [k] (xs: [k]i32) = f (k + 1) xs
