-- A function from a branch.
-- ==
-- error: E0218

def main (b: bool) (x: i32) = (if b then (+ 1) else (* 2)) x
