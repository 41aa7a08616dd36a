-- A lambda's parameter outside.
-- ==
-- error: E0201

def main (xs: []i32) = (map (\x -> x) xs, x)
