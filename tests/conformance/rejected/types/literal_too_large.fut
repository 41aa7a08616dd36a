-- A literal that does not fit its type.
-- ==
-- error: E0104

def main (x: u8) = x + 256
