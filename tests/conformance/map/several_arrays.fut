-- Functions of several arguments over as many arrays.
-- ==
-- entry: sums
-- input { [1, 2, 3] [4, 5, 6] } output { 32 [4, 14, 32] [5, 7, 9] [-3, -3, -3] }
entry sums (xs: []i32) (ys: []i32) =
  let (total, apart) = map (\x y -> (x + y, x - y)) xs ys
  in (redomap (+) (*) 0 xs ys, scanomap (+) (\x y -> x * y) 0 xs ys, total, apart)
