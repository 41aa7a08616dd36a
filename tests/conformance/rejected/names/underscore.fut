-- A name that begins with an underscore is for a value that is not used.
-- ==
-- error: E0201.*underscore
def main (_x: i32) = _x + 1
