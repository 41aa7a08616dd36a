-- The function on the left of `<|` needs the size that the right gives.
-- ==
-- error: causality

def main (xs: []i32) = length <| filter (> 0) xs
