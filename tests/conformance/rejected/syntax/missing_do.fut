-- A loop without do.
-- ==
-- error: E0101

def main (n: i32) = loop s = 0 for i < n s + i
