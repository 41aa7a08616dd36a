-- The parameter of a lambda given to map.
-- ==
-- error: E0221

def main (xss: *[][]i32) = map (\r -> r with [0] = 1) xss
