-- A function whose result is of a size that it chooses, declared or not, by a name inside a tuple or by a computation.
-- ==
-- input { [2i64, 0i64, 3i64] [4, 5, 6] }
-- output { [2i64, 0i64, 3i64] [1i64, 0i64, 2i64] }

def lengths [n] 'a 'b (f: a -> ?[k].[k]b) (xs: [n]a) : [n]i64 = map (\x -> length (f x)) xs

def main [n] (ks: [n]i64) (xs: [n]i32) =
  ( lengths (\(k: i64, x: i32) -> replicate k x) (zip ks xs)
  , lengths (\k : (?[m].[m]i64) -> filter (> 0) (iota k)) ks
  )
