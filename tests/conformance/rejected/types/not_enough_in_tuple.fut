-- A tuple where more is needed.
-- ==
-- error: E0202

def f (a: i32, b: i32, c: i32) = a + b + c
def main (x: i32) = f (x, x)
