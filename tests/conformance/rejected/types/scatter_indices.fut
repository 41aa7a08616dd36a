-- Indices of scatter are i64.
-- ==
-- error: E0202

def main (xs: *[]i32) (is: []i32) = scatter xs is is
