-- Nor can the parameter of a loop.
-- ==
-- error: E0226

def main (xs: []i32) =
  loop sums = [0, 0] for i < 3 do
    let ys = filter (> i) xs
    in map2 (+) sums ys
