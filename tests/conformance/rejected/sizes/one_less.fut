-- A size and one less.
-- ==
-- error: E0203

def main [n] (xs: [n]i32): [n - 1]i32 = xs
