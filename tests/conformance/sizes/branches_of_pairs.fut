-- Where two sizes differ between branches in the same way, they are the same after.
-- ==
-- input { true } output { [5, 7, 9] 3i64 }
-- input { false } output { [4, 6] 2i64 }

def main (b: bool) =
  let (xs, ys) = if b then ([1, 2, 3], [4, 5, 6]) else ([1, 2], [3, 4])
  in (map2 (+) xs ys, length xs)
