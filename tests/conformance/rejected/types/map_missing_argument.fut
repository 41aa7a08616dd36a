-- map without an array.
-- ==
-- error: E0202

def main (xs: []i32): []i32 = map (+ 1)
