-- A function that holds on to an array that is consumed before its call.
-- ==
-- error: E0209

def main (xs: *[]i32) = let g () = xs[0] let xs[0] = 1 in g () + xs[0]
