-- A blank is a value that is never read: what it stands for is not evaluated where its type tells its sizes, and
-- has its shape in any case.
-- ==
-- entry: no_element
-- input { 3 } output { 3 }
-- ==
-- entry: overwritten
-- input { [2i64, 0i64, 1i64] [10f64, 20f64, 30f64] } output { [20f64, 30f64, 10f64] }
-- ==
-- entry: only_shape
-- input { [4, 5, 6, 7] } output { 2i64 }
-- ==
-- entry: of_pairs
-- input { [1, 2] } output { [1, 2] [true, true] }
-- input { empty([0]i32) } output { empty([0]i32) empty([0]bool) }

def pick 'a (use: bool) (a: a) (b: a) : a = if use then a else b

entry no_element (x: i32) : i32 =
  (pick true (x, 1i64) (#[blank] [][0])).0

entry overwritten [n] (is: [n]i64) (vs: [n]f64) : [n]f64 =
  scatter (#[scratch] copy vs) is vs

entry only_shape (xs: []i32) : i64 =
  length (#[blank] filter (> 5) xs)

entry of_pairs [n] (xs: [n]i32) : ([n]i32, [n]bool) =
  let first : (i32, bool) = if n == 0 then #[blank] (xs[0], true) else (xs[0], true)
  in unzip (map (\x -> if n == 0 then first else (x, first.1)) xs)
