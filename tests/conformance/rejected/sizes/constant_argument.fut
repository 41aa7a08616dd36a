-- A literal of the wrong length for a parameter.
-- ==
-- error: E0203

def f (a: [3]i32) = a[0]
def main (x: i32) = f [x, x]
