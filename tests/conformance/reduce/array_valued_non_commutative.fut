-- Products of 2x2 matrices in order.
-- ==
-- input { empty([0]i64) }
-- output { [1i64, 0i64, 0i64, 1i64] }
-- input { [14i64] }
-- output { [14i64, 1i64, 1i64, 0i64] }
-- input { [14i64, 34i64] }
-- output { [89i64, 14i64, 34i64, 1i64] }
-- input {
--   [14i64, 34i64, 14i64, 34i64, 13i64, 34i64, 13i64, 34i64, 13i64, 33i64, 13i64, 33i64, 13i64, 33i64,
--   12i64, 33i64, 12i64]
-- }
-- output { [49i64, 55i64, 60i64, 2i64] }

def mul (a: [4]i64) (b: [4]i64): [4]i64 =
  [(a[0] * b[0] + a[1] * b[2]) % 97, (a[0] * b[1] + a[1] * b[3]) % 97,
   (a[2] * b[0] + a[3] * b[2]) % 97, (a[2] * b[1] + a[3] * b[3]) % 97]
def main (xs: []i64): [4]i64 = reduce mul [1, 0, 0, 1] (map (\x -> [x, 1, 1, 0]) xs)
