-- A suffixed literal out of range.
-- ==
-- error: E0104

def main (x: i8) = x + 300i8
