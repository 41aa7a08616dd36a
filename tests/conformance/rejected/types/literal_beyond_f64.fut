-- A decimal literal that no float type holds.
-- ==
-- error: E0104

def main (x: f64) = x - 2e308
