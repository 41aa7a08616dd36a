-- A literal with an unknown suffix.
-- ==
-- error: E010[12]|E0201|E0213

def main (x: i32) = x + 1i33
