-- Shifting a float.
-- ==
-- error: E0202

def main (x: f32) = x << 2
