-- Indexing a number.
-- ==
-- error: E0202

def main (x: i32) = x[0]
