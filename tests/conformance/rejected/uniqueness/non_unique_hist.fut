-- Nor by reduce_by_index.
-- ==
-- error: E0221

def main (xs: []i32) (is: []i64) = reduce_by_index xs (+) 0 is (map i32.i64 is)
