-- A result of another type than stated.
-- ==
-- error: E0202

def main (x: i32): bool = x
