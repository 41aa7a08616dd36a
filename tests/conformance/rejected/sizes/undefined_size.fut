-- A size that nobody defined.
-- ==
-- error: E0201

def main (a: [n]i32) = a
