-- A result of another size.
-- ==
-- error: E0203

def main [n][m] (a: [n]i32) (b: [m]i32): [n]i32 = b
