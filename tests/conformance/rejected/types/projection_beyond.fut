-- A projection beyond a tuple's end.
-- ==
-- error: E0212

def main (x: i32) = (x, x).2
