-- Rows of different lengths.
-- ==
-- error: E0204

def main (x: i32) = [[x], [x, x]]
