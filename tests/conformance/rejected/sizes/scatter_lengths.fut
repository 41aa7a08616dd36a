-- Indices and values of different lengths.
-- ==
-- error: E0203

def main [n][m] (d: *[]i32) (is: [n]i64) (vs: [m]i32) = scatter d is vs
