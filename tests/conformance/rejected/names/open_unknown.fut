-- open of a module that is nowhere.
-- ==
-- error: E0220

open nope
def main (x: i32) = x
