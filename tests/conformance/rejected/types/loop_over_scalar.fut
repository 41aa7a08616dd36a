-- A loop over a number.
-- ==
-- error: E0202

def main (n: i32) = loop s = 0 for i in n do s + i
