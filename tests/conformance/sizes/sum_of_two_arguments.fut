-- A size that the result of a function is made up of is the value of a size parameter.
-- ==
-- input { [1, 2] [3] }
-- output { [11, 12, 13] [0i64, 1i64, 2i64] [[1, 1], [1, 1], [1, 1]] }

def numbered [n] (xs: [n]i32) : [n]i64 = iota n

def main [a] [b] (xs: [a]i32) (ys: [b]i32) =
  let zs = concat xs ys
  in (map2 (+) zs (rep 10), numbered (xs ++ ys), map2 (\_ row -> row) zs (rep (rep 1i32 : [a]i32)))
