-- Elements of two types.
-- ==
-- error: E0202

def main (x: i32) = [x, true]
