-- A recursive call that hands on another function than it was given.
-- ==
-- error: E0206

def f (g: i32 -> i32) (x: i32): i32 = if x == 0 then g 0 else f (\y -> g y * 2) (x - 1)
def main (x: i32) = f (+ 1) x
