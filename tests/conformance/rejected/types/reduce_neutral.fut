-- A neutral element of another type.
-- ==
-- error: E0202

def main (xs: []i32) = reduce (+) 0.0f32 xs
