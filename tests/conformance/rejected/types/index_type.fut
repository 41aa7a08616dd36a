-- A float as index.
-- ==
-- error: E0202

def main (xs: []i32) (x: f32) = xs[x]
