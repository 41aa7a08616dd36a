-- A member that the signature asks for.
-- ==
-- error: E0

module m: {val x: i32} = {}
def main (x: i32) = x
