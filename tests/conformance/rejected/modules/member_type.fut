-- A member of another type.
-- ==
-- error: E0

module m: {val x: i32} = {def x = 2i64}
def main (x: i32) = x
