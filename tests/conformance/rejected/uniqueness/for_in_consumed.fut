-- A loop over an array that its body consumes.
-- ==
-- error: E02(09|21)

def main (xs: *[]i32) = loop s = [0] for x in xs do let ys = xs with [0] = x in s ++ ys
