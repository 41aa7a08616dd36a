-- Assignment is no expression.
-- ==
-- error: E0101

def main (x: i32) = x = 3
