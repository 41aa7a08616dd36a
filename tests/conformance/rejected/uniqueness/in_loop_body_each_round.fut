-- A loop consumes in every round an array from outside.
-- ==
-- error: E02(09|21)

def main (xs: *[]i32) = loop s = 0 for i < 3 do let ys = xs with [0] = i in s + ys[0]
