-- A branch with several results.
-- ==
-- input { false empty([0]i32) }
-- output { 2 empty([0]i32) false }
-- input { false [46] }
-- output { 2 [47] false }
-- input { false [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { 2 [47, 1, -44, 11, -35, 21, -25, 31, -15, 40, -5, 50, 5, -41, 14, -31, 24] false }
-- input { true empty([0]i32) }
-- output { 1 empty([0]i32) true }
-- input { true [46] }
-- output { 1 [46] true }
-- input { true [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- output { 1 [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] true }

def main (b: bool) (xs: []i32) = if b then (1i32, xs, true) else (2, map (+ 1) xs, false)
