-- The name is used again only inside the new value of another.
-- ==
-- error: E0209

def main (xs: *[]i32) = let ys = xs with [0] = 1 let xs = map (+ 1) xs in (xs, ys)
