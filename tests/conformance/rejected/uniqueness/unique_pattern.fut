-- A pattern that says  of an array that is not unique.
-- ==
-- error: E0221

def main (xs: []i32) = let ys: *[]i32 = xs in ys[0]
