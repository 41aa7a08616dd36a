-- A decimal without a digit before the point.
-- ==
-- error: E0101

def main (x: f32) = x + .5
