-- The branches have different sizes.
-- ==
-- input { empty([0]i32) false }
-- output { 0i64 0 empty([0]i32) }
-- input { empty([0]i32) true }
-- output { 0i64 0 empty([0]i32) }
-- input { [46] false }
-- output { 2i64 92 [46, 46] }
-- input { [46] true }
-- output { 1i64 46 [46] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] false }
-- output {
--   34i64 62 [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23, 46, 0, -45, 10, -36,
--   20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23]
-- }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] true }
-- output { 9i64 234 [46, 10, 20, 30, 39, 49, 4, 13, 23] }

def main (xs: []i32) (b: bool) = let ys = if b then filter (> 0) xs else xs ++ xs in (length ys, i32.sum ys, ys)
