-- A type variable that is not declared.
-- ==
-- error: E0214

def f (x: a) = x
def main (x: i32) = f x
