-- if without else.
-- ==
-- error: E0101

def main (x: i32) = if x > 0 then x
