-- A section of an operator at another type.
-- ==
-- error: E0202

def main (xs: []i32) = map (+ true) xs
