-- A field updated with another type.
-- ==
-- error: E0202

def main (x: i32) = let r = {a = x} in r with a = true
