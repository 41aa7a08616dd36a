-- A field of a number.
-- ==
-- error: E0212

def main (x: i32) = x.foo
