-- A literal of another type.
-- ==
-- error: E0202

def main (x: i32) = x * 2i64
