-- A member that a numeric module lacks.
-- ==
-- error: E0201

def main (x: i32) = i32.sqrt x
