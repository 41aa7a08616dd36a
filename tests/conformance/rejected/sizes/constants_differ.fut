-- Two constants.
-- ==
-- error: E0203

def f (a: [3]i32): [4]i32 = a
def main (a: [3]i32) = f a
