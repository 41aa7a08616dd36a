-- A partial application that consumed its argument, passed to map.
-- ==
-- error: E0221

def g (xs: *[]i32) (i: i32) = i32.sum (xs with [0] = i)
def main (xs: *[]i32) = map (g xs) [1, 2]
