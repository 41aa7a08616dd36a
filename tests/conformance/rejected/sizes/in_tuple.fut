-- Sizes inside a tuple.
-- ==
-- error: E0203

def f [n] (p: ([n]i32, [n]bool)) = p.0
def main [n][m] (a: [n]i32) (b: [m]bool) = f (a, b)
