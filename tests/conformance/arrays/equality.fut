-- Arrays, also of arrays, are equal if all their elements are.
-- ==
-- input { [1, 2] [1, 2] [[true]] }
-- output { true false true }
-- input { [1, 2] [1, 3] empty([0][2]bool) }
-- output { false true true }
-- input { empty([0]i32) empty([0]i32) empty([2][0]bool) }
-- output { true false true }
-- input {
--   [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] [46, 0, -45, 10, -36, 20, -26,
--   30, -16, 39, -6, 49, 4, -42, 13, -32, 23] empty([0][0]bool)
-- }
-- output { true false true }

def main [n] (a: [n]i32) (b: [n]i32) (c: [][]bool): (bool, bool, bool) = (a == b, a != b, c == c)
