-- Two and three are not six.
-- ==
-- error: E0203

def main (xs: [2]i32) (ys: [3]i32): [6]i32 = xs ++ ys
