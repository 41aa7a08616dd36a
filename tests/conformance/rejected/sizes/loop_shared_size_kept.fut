-- The body compares two parameters of a loop and then changes the size of one of them, while the other stays as it is.
-- ==
-- error: E0203

def main [n] (xs: [n]i32) (ys: [n]i32) =
  loop (as, bs) = (xs, ys) for _i < 3 do
    let smaller = filter (< 10) (map2 (*) as bs)
    in (as, smaller)
