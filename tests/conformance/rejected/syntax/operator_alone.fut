-- An operator without its right operand.
-- ==
-- error: E0101

def main (x: i32) = x +
