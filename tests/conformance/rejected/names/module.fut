-- A module that is nowhere.
-- ==
-- error: E02(01|20)

def main (x: i32) = nope.f x
