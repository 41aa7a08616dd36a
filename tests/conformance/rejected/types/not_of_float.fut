-- Negating the bits of a float.
-- ==
-- error: E0202

def main (x: f32) = !x
