-- Arguments are evaluated from the last to the first: the last one knows no size that the first one gives.
-- ==
-- error: causality

def call [n] (ys: [n]i32) (g: [n]i32 -> i32) = g ys

def main (xs: []i32) = call (filter (> 0) xs) (\ys -> i32.sum ys)
