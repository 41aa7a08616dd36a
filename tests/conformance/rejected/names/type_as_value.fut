-- A type is no value.
-- ==
-- error: E0201

type t = i32
def main (x: i32) = t + x
