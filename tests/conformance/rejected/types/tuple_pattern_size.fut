-- A pattern of three for a pair.
-- ==
-- error: E0202

def main (x: i32) = let (a, b, c) = (x, x) in a
