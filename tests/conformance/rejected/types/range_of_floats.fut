-- A range of floats.
-- ==
-- error: E0202

def main (a: f32) = 0..<a
