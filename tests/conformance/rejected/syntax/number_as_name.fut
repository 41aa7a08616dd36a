-- A name that begins with a digit.
-- ==
-- error: E010[12]

def 2x (x: i32) = x
def main (x: i32) = x
