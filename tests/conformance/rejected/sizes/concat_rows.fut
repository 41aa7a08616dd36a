-- Rows of different widths are concatenated.
-- ==
-- error: E0203

def main [n][m][k] (a: [n][m]i32) (b: [n][k]i32) = a ++ b
