-- An operator on rows of another width.
-- ==
-- error: E0203

def main [n][m] (a: [n][m]i32) (z: [n]i32) = reduce (map2 (+)) z a
