-- An empty array has rows of a size that comes up later.
-- ==
-- error: causality

def even (x: i32) = x % 2 == 0

def main (xs: []i32) =
  let none = [] : [][]i32
  let ys = filter even xs
  let all = none ++ [ys]
  in length all[0]
