-- A partially applied function that consumes its captured argument, used twice.
-- ==
-- error: E02(09|21)

def f (xs: *[]i32) (i: i32) = xs with [0] = i
def main (xs: *[]i32) = let g = f xs in (g 1, g 2)
