-- A type that does not exist.
-- ==
-- error: E0214

def main (x: int) = x
