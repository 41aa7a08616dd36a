-- A string that is not closed.
-- ==
-- error: E010[12]

def main (x: i32) = "abc
