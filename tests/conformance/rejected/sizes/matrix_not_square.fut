-- A square matrix is needed.
-- ==
-- error: E0203

def f [n] (a: [n][n]i32) = a[0, 0]
def main [n][m] (a: [n][m]i32) = f a
