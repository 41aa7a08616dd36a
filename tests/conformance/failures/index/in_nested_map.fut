-- An inner map reads outside.
-- ==
-- input { [[46, 0, -45], [10, -36, 20]] 0i64 }
-- output { [1, -6] }
-- input { [[46, 0, -45]] 1i64 }
-- error: R0101.*index .*3
-- input { empty([0][3]i32) 9i64 }
-- output { empty([0]i32) }

def main [n][m] (xss: [n][m]i32) (k: i64): [n]i32 = map (\r -> i32.sum (map (\i -> r[i + k]) (iota m))) xss
