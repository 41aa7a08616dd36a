-- A character that does not belong.
-- ==
-- error: E0102

def main (x: i32) = x @ 1
