-- A record pattern lacks a field.
-- ==
-- error: E0202

def main (x: i32) = let {a} = {a = x, b = 2} in a
