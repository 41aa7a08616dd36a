-- Functions in an array.
-- ==
-- error: E0218

def main (x: i32) = let fs = [(+ 1), (+ 2)] in x
