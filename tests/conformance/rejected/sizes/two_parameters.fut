-- Arrays of two unrelated sizes.
-- ==
-- error: E0203

def main [n][m] (a: [n]i32) (b: [m]i32) = map2 (+) a b
