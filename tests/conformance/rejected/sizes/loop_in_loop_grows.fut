-- A loop inside of a loop changes the size: its body is named, not the loops.
-- ==
-- error: sizes do not match
def main [m] (n: i64) (xs: [m]f64): [m]f64 =
  loop ys = xs for i < n do
    let k = i + 1
    in loop zs = ys for _j < k do
      zs[1:]
