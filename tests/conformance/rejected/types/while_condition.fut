-- A while loop needs a truth value.
-- ==
-- error: E0202

def main (n: i32) = loop x = n while x do x - 1
