-- An operator that is nowhere.
-- ==
-- error: E0201

def main (x: i32) = x +++ 1
