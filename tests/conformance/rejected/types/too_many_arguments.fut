-- A function with too many arguments.
-- ==
-- error: E0213

def f (x: i32) = x
def main (x: i32) = f x 2
