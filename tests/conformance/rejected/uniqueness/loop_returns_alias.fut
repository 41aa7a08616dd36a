-- A loop that consumes its state gives back something else's data.
-- ==
-- error: E02(09|22|21)

def main (zs: []i32) (xs: *[]i32) = loop a = xs for i < 3 do let b = a with [0] = i in zs
