-- A decimal literal that is infinite at its type.
-- ==
-- error: E0104

def main (x: f32) = x * 4e38
