-- A partially applied function that has consumed its argument, passed on by a pipe.
-- ==
-- error: E0221

def f (xs: *[]i32) (i: i32) = xs with [0] = i
def main (xs: *[]i32) = f xs |> (\g -> (g 1, g 2))
