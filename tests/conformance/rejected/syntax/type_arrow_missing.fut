-- A function type without parentheses in a parameter list.
-- ==
-- error: E0101

def f (g: i32 ->) = g 1
def main (x: i32) = f (+ 1)
