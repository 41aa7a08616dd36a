-- The size of a function's parameter has to be named outside.
-- ==
-- error: anonymous

type^ test = []bool -> bool
def main (x: i32) = x
