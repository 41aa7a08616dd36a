-- The last element of a scan against a reduction with the same operator.
-- ==
-- input { empty([0]i32) }
-- output { true }
-- input { [0] }
-- output { true }
-- input { [0, 3, 3] }
-- output { true }
-- input { [0, 3, 3, 2, 1, 1, 0, 0, 3, 2, 2, 1, 1, 0, 3, 3, 2] }
-- output { true }
-- input {
--   [0, 3, 3, 2, 1, 1, 0, 0, 3, 2, 2, 1, 1, 0, 3, 3, 2, 1, 1, 0, 0, 3, 2, 2, 1, 1, 0, 3, 3, 2, 1, 1, 0, 0,
--   3, 2, 2, 1, 0, 0, 3, 3, 2, 1, 1, 0, 0, 3, 2, 2, 1, 0, 0, 3, 3, 2, 1, 1, 0, 0, 3, 2, 2, 1, 0, 0, 3, 3, 2,
--   1, 1, 0, 0, 3, 2, 2, 1, 0, 0, 3, 3, 2, 1, 1, 0, 3, 3, 2, 2, 1, 0, 0, 3, 3, 2, 1, 1, 0, 3, 3]
-- }
-- output { true }

def main [n] (xs: [n]i32): bool =
  let op a b = if b == 0 then a else b
  in n == 0 || last (scan op 0 xs) == reduce op 0 xs
