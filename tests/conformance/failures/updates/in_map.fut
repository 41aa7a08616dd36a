-- An update outside in one element of a map.
-- ==
-- input { [0i64, 1i64, 2i64] }
-- output { [5, 10, 15] }
-- input { [0i64, 3i64] }
-- error: R0101.*index \[3\]

def main (is: []i64): []i32 = map (\i -> let a = replicate 3 0 let a[i] = 5 in a[0] + a[1] * 2 + a[2] * 3) is
