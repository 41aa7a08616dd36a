-- A type where a size is needed.
-- ==
-- error: E0215

type v [n] = [n]i32
def main (x: v i32) = x
