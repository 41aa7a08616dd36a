-- The condition of filter must give a truth value.
-- ==
-- error: E0202

def main (xs: []i32) = filter (+ 1) xs
