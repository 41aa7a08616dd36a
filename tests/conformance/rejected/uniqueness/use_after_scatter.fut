-- The destination after a scatter.
-- ==
-- error: E0209

def main (xs: *[]i32) (is: []i64) = let ys = scatter xs is (map i32.i64 is) in ys[0] + xs[0]
