-- A function applied to itself.
-- ==
-- error: E02..

def main (x: i32) = let f = \g -> g g in x
