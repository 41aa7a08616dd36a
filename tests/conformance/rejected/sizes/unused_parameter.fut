-- A size parameter that no argument determines.
-- ==
-- error: E02..

def f [n] (x: i32): i32 = x + i32.i64 n
def main (x: i32) = f x
