-- A float as bound.
-- ==
-- error: E0202

def main (x: f64) = loop s = 0 for i < x do s + 1
