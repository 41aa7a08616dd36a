-- Consumed through a pipe.
-- ==
-- error: E0209

def main (xs: *[]i32) = let ys = xs |> (\(a: *[]i32) -> a with [0] = 1) in (xs, ys)
