-- An argument that waits for the others is consumed by one of them.
-- ==
-- error: E0209

def add (xs: []i32) (ys: []i32) = map2 (+) xs ys
def main (xs: *[]i32) = add (xs with [0] = 5) xs
