-- What a function holds on to is its argument as well, which it consumes.
-- ==
-- error: E0209

def main (xs: *[]i32): i32 =
  let f = \(ys: *[]i32): i32 -> (ys with [0] = 10)[0] + xs[0]
  in f xs
