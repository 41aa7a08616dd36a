-- Nor can it be chosen by the function.
-- ==
-- error: anonymous sizes

def main (xss: [][]i32) = map (filter (> 0)) xss
