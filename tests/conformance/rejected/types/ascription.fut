-- An ascription that does not hold.
-- ==
-- error: E0202

def main (x: i32) = (x : i64)
