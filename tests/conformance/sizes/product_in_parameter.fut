-- A parameter whose size is a product.
-- ==
-- input { 0i64 3i64 }
-- output { 0i64 }
-- input { 3i64 0i64 }
-- output { 0i64 }
-- input { 2i64 5i64 }
-- output { 45i64 }
-- input { 17i64 3i64 }
-- output { 1275i64 }

def f [n][m] (flat: [n * m]i32) (_: [n]()) : [n][m]i32 = unflatten flat
def main (k: i64) (m: i64): i64 = let a = (f (map i32.i64 (iota (k * m)) :> [k * m]i32) (replicate k ())) : [k][m]i32 in i64.sum (map (\r -> i64.i32 (i32.sum r)) a)
