-- A size that is not defined.
-- ==
-- error: E0201

def main (a: [n]i32) = a
