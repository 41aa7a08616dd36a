-- The parameter of a lambda has a size that comes up where it is applied.
-- ==
-- error: causality

def main (xs: []i32) = (\f -> f (filter (> 0) xs)) (\ys -> i32.sum ys)
