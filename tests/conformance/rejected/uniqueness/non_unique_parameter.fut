-- A parameter that is not unique cannot be consumed.
-- ==
-- error: E0221

def main (xs: []i32) = xs with [0] = 1
