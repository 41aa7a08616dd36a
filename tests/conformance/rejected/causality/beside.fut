-- The parts of a tuple do not wait for each other.
-- ==
-- error: causality

def call [n] (g: [n]i32 -> i32, ys: [n]i32) = g ys

def main (xs: []i32) = call (\ys -> i32.sum ys, filter (> 0) xs)
