-- ==
-- entry: zipped
-- input { [1, 2] [true, false] } output { [11, 2] [1, 2] [true, false] }
entry zipped [n] (xs: [n]i32) (bs: [n]bool) =
  let (ys, cs) = unzip2 (zip2 xs bs)
  in (map (\(x, b) -> if b then x + 10 else x) (zip2 xs bs), ys, cs)
