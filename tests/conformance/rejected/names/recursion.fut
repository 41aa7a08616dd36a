-- A function that calls itself.
-- ==
-- error: E0206

def f (x: i32): i32 = if x == 0 then 0 else f (x - 1)
def main (x: i32) = f x
