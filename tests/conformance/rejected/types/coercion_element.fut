-- `:>` changes sizes only.
-- ==
-- error: E0202

def main (xs: []i32) = xs :> [3]f32
