-- if, let and lambda reach as far right as they can.
-- ==
-- input { 0 }
-- output { 101 2 [2] -1 }
-- input { 1 }
-- output { 2 4 [4] -2 }
-- input { -7 }
-- output { 87 -12 [-12] -2 }
-- input { 100 }
-- output { 101 202 [202] -2 }

def main (x: i32) = (1 + if x > 0 then x else x * 2 + 100, (2 * let y = x in y + 1), map (\y -> y + 1 |> (* 2)) [x], -if x == 0 then 1 else 2)
