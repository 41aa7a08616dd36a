-- A scalar and an array change together.
-- ==
-- input { empty([0]i32) }
-- output { 0 empty([0]i32) }
-- input { [0] }
-- output { 0 [0] }
-- input { [0, 3, 3] }
-- output { 6 [3, 6, 6] }
-- input { [0, 3, 3, 2, 1, 1, 0, 0, 3, 2, 2, 1, 1, 0, 3, 3, 2] }
-- output {
--   85603 [85601, 85604, 85604, 85603, 85602, 85602, 85601, 85601, 85604, 85603, 85603, 85602, 85602, 85601,
--   85604, 85604, 85603]
-- }

def main [n] (xs: [n]i32) = loop (a, b) = (0, xs) for i < n do (a + b[i], map (+ a) b)
