-- A guard protects every element.
-- ==
-- input { [10, 20, 30] [0, 0, 7] }
-- output { [0, 0, 4] }

def main [n] (xs: [n]i32) (ys: [n]i32): [n]i32 = map2 (\x y -> if y == 0 then 0 else x / y) xs ys
