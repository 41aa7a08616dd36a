-- assert needs a truth value.
-- ==
-- error: E0202

def main (x: i32) = assert x x
