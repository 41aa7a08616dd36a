-- A definition in an expression.
-- ==
-- error: E0101

def main (x: i32) = (def y = x in y)
