-- A decimal without a digit after the point.
-- ==
-- error: E0101

def main (x: f64) = x + 1.
