-- Slices and ranges say their sizes: two of one form are equally long.
-- ==
-- input { [1, 2, 3, 4, 5] 1i64 4i64 }
-- output { [3, 5, 7] [3, 5, 7, 9] [11, 22, 33] [51, 42, 33, 24, 15] [3i64, 5i64] }

def main [n] (xs: [n]i32) (i: i64) (j: i64) =
  let middle = xs[i:j]
  let shifted = map2 (+) xs[i:] xs[:n - i]
  in ( map2 (+) middle (xs[:j - i])
     , shifted
     , map2 (+) (xs[:3]) (map (* 10) (xs[:3]))
     , map2 (+) xs (map (* 10) xs[::-1])
     , map2 (+) (i..<j)[1:] (i..<j)[:j - i - 1]
     )
