-- The new value shares data with what is overwritten.
-- ==
-- error: E0209

def main (xss: *[][]i32) = let r = xss[1] let xss[0] = r in xss
