-- Tuples of different lengths in an array.
-- ==
-- error: E0202

def main (x: i32) = map (.0) [(x, 1), (x, 1, 2)]
