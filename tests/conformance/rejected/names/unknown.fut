-- A name that is nowhere.
-- ==
-- error: E0201

def main (xs: []i32) = lenght xs
