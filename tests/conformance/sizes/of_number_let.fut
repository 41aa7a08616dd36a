-- A number with a name is the size that its expression is, outside of the name's scope.
-- ==
-- input { 3i64 [1, 2, 3, 4] }
-- output { [1i64, 3i64, 5i64, 7i64] 4i64 }

def grown (n: i64) : [n + 1]i64 = let m = n + 1 in iota m

def main [k] (n: i64) (xs: [k]i32) =
  let ys = map i64.i32 (xs :> [n + 1]i32)
  in (map2 (+) ys (grown n), length (let m = n in let k = m + 1 in replicate k 0u8))
