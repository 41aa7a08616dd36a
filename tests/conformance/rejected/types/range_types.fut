-- A range from one type to another.
-- ==
-- error: E0202

def main (a: i32) (b: i64) = a..<b
