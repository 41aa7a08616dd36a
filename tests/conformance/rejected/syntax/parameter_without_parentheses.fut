-- A parameter with a type needs parentheses.
-- ==
-- error: E0101

def main x: i32 -> i32 = y -> x + y
