-- Minus a truth value.
-- ==
-- error: E0202

def main (b: bool) = -b
