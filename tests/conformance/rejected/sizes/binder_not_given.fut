-- A size that a `let` names and that the value does not tell: an empty array has no rows.
-- ==
-- error: E0227

def main (x: i64) = let [n][m] (_: [n][m]i64) = [] in (x, n, m)
