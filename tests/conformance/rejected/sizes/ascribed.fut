-- An ascription with another size.
-- ==
-- error: E0203

def main [n][m] (a: [n]i32) (b: [m]i32) = (a : [m]i32)
