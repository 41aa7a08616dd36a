-- A row updated with another row of the same matrix.
-- ==
-- error: E0209

def main (xss: *[][]i32) = xss with [0] = xss[1]
