-- Operands of two types.
-- ==
-- error: E0202

def main (x: i32) (y: i64) = x + y
