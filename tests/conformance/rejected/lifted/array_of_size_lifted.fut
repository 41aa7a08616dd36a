-- A size-lifted type cannot be in an array: its sizes might differ.
-- ==
-- error: E0

def f '~a (x: a) = [x]
def main (x: i32) = f x
