-- A size that is no i64.
-- ==
-- error: E02..

def main (n: i32) (a: [n]i32) = a
