-- A function whose result is not unique stands where one is expected whose result is.
-- ==
-- error: E0221

def set (f: i32 -> *[2]i32): *[2]i32 = f 1 with [0] = 1
def main (xs: [2]i32): *[2]i32 = set (\_ -> xs)
