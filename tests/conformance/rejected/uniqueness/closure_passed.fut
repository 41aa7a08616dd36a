-- The same when it is passed to map.
-- ==
-- error: E0209

def main (xs: *[]i32) = let g (i: i64) = xs[i] let ys = xs with [0] = 1 in map g [0, 1]
