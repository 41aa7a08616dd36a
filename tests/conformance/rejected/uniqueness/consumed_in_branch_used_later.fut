-- The result of the branches may be consumed; the array that went over to it may not be used any more.
-- ==
-- error: E0209

def main (c: bool) (xs: *[]i32) =
  let ys = if c then xs with [0] = 1 else xs
  let zs = ys with [1] = 2
  in zs[0] + xs[0]
