-- A function with too few arguments used as a number.
-- ==
-- error: E0202

def f (x: i32) (y: i32) = x + y
def main (x: i32) = f x + 1
