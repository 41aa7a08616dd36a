-- A negative literal where the type is found to be unsigned.
-- ==
-- error: E0104

def main (x: u16) = x + -7
