-- Loop parameters whose type is written: those with `*` are updated, the others are read.
-- ==
-- input { [3, 4] } output { [30, 40] [3, 4] }

def main [n] (xs: [n]i32) =
  loop (acc: *[n]i32, seen: [n]i32) = (copy xs, xs) for i < n do (acc with [i] = 10 * seen[i], seen)
