-- A generic segmented scan and reduction.
-- ==
-- input { empty([0]i32) empty([0]bool) }
-- output { empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) }
-- input { [46] [false] }
-- output { [46] [46] [46] [46] }
-- input { [46, 0, -45] [false, false, false] }
-- output { [46, 46, 1] [46, 46, 46] [1] [1] }
-- input {
--   [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] [false, false, false, true,
--   false, false, false, false, true, false, true, true, true, true, false, true, true]
-- }
-- output {
--   [46, 46, 1, 10, -26, -6, -32, -2, -16, 23, -6, 49, 4, -42, -29, -32, 23] [46, 46, 46, 10, 10, 20, 20,
--   30, -16, 39, -6, 49, 4, -42, 13, -32, 23] [1, -2, 23, -6, 49, 4, -29, -32, 23] [1, -2, 23, -6, 49, 4,
--   -29, -32, 23]
-- }
-- input {
--   [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23, -23, 33, -13, 43, -3, -49, 7,
--   -39, 17, -29, 26, -19, 36, -10, 46, 0, -45, 10, -36, 20, -26, 29, -16, 39, -6, 49, 3, -42, 13, -32, 23,
--   -23, 33, -13, 42, -3, -49, 7, -39, 16, -29, 26, -19, 36, -10, 46, 0, -46, 10, -36, 20, -26, 29, -16, 39,
--   -6, 49, 3, -42, 13, -33, 23, -23, 33, -13, 42, -3, -49, 6, -39, 16, -29, 26, -20, 36, -10, 46, 0, -46,
--   10, -36, 19, -26] [false, false, false, true, false, false, false, false, true, false, true, true, true,
--   true, false, true, true, true, true, true, true, false, true, false, false, true, false, true, false,
--   false, false, false, true, false, true, false, false, true, false, true, false, true, true, true, true,
--   true, true, true, true, true, false, true, false, true, false, false, true, false, false, false, false,
--   false, false, true, false, true, false, false, true, false, true, true, true, true, true, true, true,
--   true, true, false, true, false, true, false, false, false, false, true, false, false, false, false,
--   true, false, true, false, true, true, false, true]
-- }
-- output {
--   [46, 46, 1, 10, -26, -6, -32, -2, -16, 23, -6, 49, 4, -42, -29, -32, 23, -23, 33, -13, 43, 40, -49, -42,
--   -81, 17, -12, 26, 7, 43, 33, 79, 0, -45, 10, -26, -6, -26, 3, -16, 23, -6, 49, 3, -42, 13, -32, 23, -23,
--   33, 20, 42, 39, -49, -42, -81, 16, -13, 13, -6, 30, 20, 66, 0, -46, 10, -26, -6, -26, 3, -16, 39, -6,
--   49, 3, -42, 13, -33, 23, 0, 33, 20, 42, 39, -10, -4, -43, 16, -13, 13, -7, 29, -10, 36, 0, -46, 10, -36,
--   -17, -26] [46, 46, 46, 10, 10, 20, 20, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23, -23, 33, -13, 43, 43,
--   -49, 7, 7, 17, 17, 26, 26, 36, 36, 46, 0, 0, 10, 10, 20, -26, 29, -16, 39, -6, 49, 3, -42, 13, -32, 23,
--   -23, 33, 33, 42, 42, -49, 7, 7, 16, 16, 26, 26, 36, 36, 46, 0, 0, 10, 10, 20, -26, 29, -16, 39, -6, 49,
--   3, -42, 13, -33, 23, 23, 33, 33, 42, 42, 42, 42, 42, 16, 16, 26, 26, 36, -10, 46, 0, 0, 10, -36, 19,
--   -26] [1, -2, 23, -6, 49, 4, -29, -32, 23, -23, 33, -13, 40, -81, -12, 79, -45, -6, 3, 23, -6, 49, 3,
--   -42, 13, -32, 23, -23, 20, 39, -81, 66, -46, -6, 3, -16, 39, -6, 49, 3, -42, 13, -33, 0, 20, -43, 29,
--   36, -46, 10, -17, -26] [1, -2, 23, -6, 49, 4, -29, -32, 23, -23, 33, -13, 40, -81, -12, 79, -45, -6, 3,
--   23, -6, 49, 3, -42, 13, -32, 23, -23, 20, 39, -81, 66, -46, -6, 3, -16, 39, -6, 49, 3, -42, 13, -33, 0,
--   20, -43, 29, 36, -46, 10, -17, -26]
-- }

def segscan [n] 't (op: t -> t -> t) (ne: t) (arr: [n](t, bool)): [n]t =
  map (.0) (scan (\(x, f) (y, g) -> (if g then y else op x y, f || g)) (ne, false) arr)
def segreduce [n] 't (op: t -> t -> t) (ne: t) (arr: [n](t, bool)): []t =
  let sums = segscan op ne arr
  let flags = map (.1) arr
  let ends = rotate 1 flags
  let seg = map2 (\e i -> e || i == n - 1) ends (iota n)
  let k = map i64.bool seg |> scan (+) 0
  let num = if n == 0 then 0 else last k
  in scatter (replicate num ne) (map2 (\e j -> if e then j - 1 else -1) seg k) sums
def main [n] (xs: [n]i32) (fs: [n]bool) = (segscan (+) 0 (zip xs fs), segscan i32.max i32.lowest (zip xs fs), segreduce (+) 0 (zip xs fs), segreduce (\(a, b) (c, d) -> (a + c, b * d)) (0, 1) (map2 (\x f -> ((x, 1i32), f)) xs fs) |> map (.0))
