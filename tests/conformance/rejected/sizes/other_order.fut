-- `n + 1` and `1 + n` do not read the same.
-- ==
-- error: E0203

def front [n] (xs: [n + 1]i32) : [1 + n]i32 = xs
def main [n] (xs: [n]i32) = front (xs ++ [1])
