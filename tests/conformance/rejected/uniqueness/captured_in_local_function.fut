-- A local function consumes what it captured.
-- ==
-- error: E0221

def main (xs: *[]i32) = let f (i: i32) = xs with [0] = i in f 1
