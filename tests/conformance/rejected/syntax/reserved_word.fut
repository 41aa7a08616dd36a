-- A reserved word as a name.
-- ==
-- error: E0101

def loop (x: i32) = x
def main (x: i32) = x
