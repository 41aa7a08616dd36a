-- A fully lifted type cannot be in an array.
-- ==
-- error: E0

def f '^a (x: a) = [x]
def main (x: i32) = f x
