-- A bracket that is not closed.
-- ==
-- error: E0101

def main (x: i32) = [x, 1
def f = 2
