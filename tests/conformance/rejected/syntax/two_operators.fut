-- Operators that run together.
-- ==
-- error: E0(101|201)

def main (x: i32) = x *- 1
