-- A function as the state of a loop.
-- ==
-- error: E0218

def main (x: i32) = (loop f = (+ 1) for i < 3 do \y -> f (f y)) x
