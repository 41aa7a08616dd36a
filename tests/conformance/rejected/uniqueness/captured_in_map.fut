-- A captured array consumed inside a map.
-- ==
-- error: E0221

def main (xs: *[]i32) = map (\i -> (xs with [0] = i)[0]) [1, 2]
