-- Nor by passing it on to a function that consumes.
-- ==
-- error: E0221

def f (xs: *[]i32) = xs with [0] = 1
def main (xs: []i32) = f xs
