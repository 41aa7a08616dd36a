-- The array after its consumption, in a later filter.
-- ==
-- error: E0209

def main (xs: *[]i32) = let ys = reduce_by_index xs (+) 0 [0, 1] [5, 6] in filter (> 0) xs ++ ys
