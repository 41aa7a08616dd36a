-- An integer literal that is infinite as a half, and says that it is one.
-- ==
-- error: E0104

def main (x: f16) = x + 65520f16
