-- The size of the array changes in every round.
-- ==
-- input { 0 }
-- output { [1] }
-- input { 1 }
-- output { [1, 11] }
-- input { 2 }
-- output { [1, 11, 11, 21] }
-- input { 5 }
-- output {
--   [1, 11, 11, 21, 11, 21, 21, 31, 11, 21, 21, 31, 21, 31, 31, 41, 11, 21, 21, 31, 21, 31, 31, 41, 21, 31,
--   31, 41, 31, 41, 41, 51]
-- }

def main (n: i32): []i32 = loop xs = [1i32] for _i < n do xs ++ map (\x -> x + 10) xs
