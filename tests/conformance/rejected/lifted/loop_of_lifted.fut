-- Nor be the state of a loop.
-- ==
-- error: E0

def f '^a (x: a) = loop y = x for i < 3 do y
def main (x: i32) = f x
