-- Literals of different lengths.
-- ==
-- error: E0203

def main (x: i32) = map2 (+) [x, 2] [1, 2, 3]
