-- A transposed view.
-- ==
-- error: E0209

def main (xss: *[][]i32) = let t = transpose xss let xss[0, 0] = 9 in (t, xss)
