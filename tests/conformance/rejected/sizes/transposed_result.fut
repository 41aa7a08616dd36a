-- Rows and columns exchanged.
-- ==
-- error: E0203

def main [n][m] (a: [n][m]i32): [n][m]i32 = transpose a
