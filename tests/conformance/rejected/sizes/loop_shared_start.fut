-- Two arrays that shrink together must start equally long.
-- ==
-- error: E0203

def main [n] [m] (xs: [n]i32) (ys: [m]i32) : ([]i32, []i32) =
  loop (a, b) = (xs, ys) while length a > 2 do
    let c = map2 (+) a b
    in (c[1:], c[1:])
