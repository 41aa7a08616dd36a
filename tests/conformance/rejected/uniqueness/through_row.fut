-- A row of the consumed matrix.
-- ==
-- error: E0209

def main (xss: *[][]i32) = let row = xss[0] let xss[0, 0] = 9 in (row, xss)
