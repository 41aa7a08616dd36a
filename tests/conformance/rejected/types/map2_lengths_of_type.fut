-- A function of too few parameters for map2.
-- ==
-- error: E0202

def main (xs: []i32) = map2 (\x -> x) xs xs : []i32
