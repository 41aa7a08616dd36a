-- if without then.
-- ==
-- error: E0101

def main (x: i32) = if x > 0 x else 1
