-- Nor by scatter.
-- ==
-- error: E0221

def main (xs: []i32) (is: []i64) = scatter xs is (map i32.i64 is)
