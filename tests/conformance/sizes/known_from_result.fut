-- The size of a result that has no name is the value of size parameters elsewhere.
-- ==
-- input { [1, -2, 3] } output { 3i64 2i64 3i64 [1, 3] }
-- input { empty([0]i32) } output { 1i64 0i64 0i64 empty([0]i32) }

def next_size [n] (_: [n]i32 -> i32) : [n]i32 -> i64 =
  let m = n + 1
  in \_ -> m

def parts [n] [m] 't (_: [n + m]t) = (n, m)

def main (xs: []i32) =
  let (a, b) = parts (let ys = filter (> 0) xs in ys ++ xs)
  let ys = filter (> 0) xs
  let positive = map2 (*) (rep 1) ys
  in (filter (> 0) xs |> next_size (\_ -> 0), a, b, positive)
