-- Nor can a row of one.
-- ==
-- error: E0221

def main (xss: [][]i32) = let r = xss[0] in r with [0] = 1
