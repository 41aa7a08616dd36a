-- A brace that is not closed.
-- ==
-- error: E0101

def main (x: i32) = {a = x
