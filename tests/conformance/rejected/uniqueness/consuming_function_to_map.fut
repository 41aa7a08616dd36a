-- A consuming function as the argument of map.
-- ==
-- error: E0221

def f (r: *[]i32): []i32 = r with [0] = 1
def main (xss: [][]i32) = map f xss
