-- A parameter cannot have the size of what the body makes.
-- ==
-- error: unknown size.*in parameter

def against xs = let ys = filter (> 0) [1, 2, 3] in map2 (+) xs ys
def main (xs: []i32) = against xs
