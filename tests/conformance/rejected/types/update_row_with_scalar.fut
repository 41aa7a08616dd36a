-- A row replaced by a number.
-- ==
-- error: E0202

def main (xss: *[][]i32) = xss with [0] = 3
