-- The size of what `filter` gives is no other.
-- ==
-- error: E0203

def main [n] (xs: [n]i32) = map2 (+) xs (filter (> 0) xs)
