-- match without cases.
-- ==
-- error: E0101

def main (x: i32) = match x
