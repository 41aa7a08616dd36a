-- An unknown field updated.
-- ==
-- error: E0212

def main (x: i32) = let r = {a = x} in r with b = 3
