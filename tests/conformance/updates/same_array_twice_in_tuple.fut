-- A fresh array per use.
-- ==
-- input { 0i64 }
-- output { empty([0]i32) empty([0]i32) }
-- input { 1i64 }
-- output { [-1] [-2] }
-- input { 17i64 }
-- output {
--   [-1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] [-2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
--   2]
-- }

def main (n: i64): ([n]i32, [n]i32) =
  let f (k: i32): *[n]i32 = let a = replicate n k in if n > 0 then a with [0] = -k else a
  in (f 1, f 2)
