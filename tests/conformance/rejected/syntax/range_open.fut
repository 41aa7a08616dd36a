-- A range without an end.
-- ==
-- error: E0101

def main (x: i32) = 0..x
