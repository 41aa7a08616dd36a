-- One size parameter twice.
-- ==
-- error: E0205

def main [n][n] (a: [n]i32) = a
