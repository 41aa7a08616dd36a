-- The same in every element of a map.
-- ==
-- input { [[1, 2, 0], [1, 2, 3], [0, 0, 0]] }
-- output { [2i64, 3i64, 0i64] }
-- input { empty([2][0]i32) }
-- output { [0i64, 0i64] }

def main (xss: [][]i32): []i64 = map (\xs -> loop i = 0 while i < length xs && xs[i] > 0 do i + 1) xss
