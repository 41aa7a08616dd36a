-- Bitwise operators on floats.
-- ==
-- error: E0202

def main (x: f64) = x & 1
