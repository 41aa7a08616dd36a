-- Sizes of parameters without a name are found: here both arrays turn out to have the same.
-- ==
-- entry: dot
-- input { [1, 2, 3] [4, 5, 6] }
-- output { 32 }
-- input { empty([0]i32) empty([0]i32) }
-- output { 0 }
-- input { [1, 2] [3, 4, 5] }
-- error: shape

-- ==
-- entry: rows
-- input { [[1, 2], [3, 4]] [5, 6] }
-- output { [[6, 8], [8, 10]] }

def product (xs: []i32) (ys: []i32) : i32 = i32.sum (map2 (*) xs ys)
entry dot (xs: []i32) (ys: []i32) : i32 = product xs ys

def add [n] (xs: [n]i32) (ys: [n]i32) : [n]i32 = map2 (+) xs ys
entry rows (xss: [][]i32) (ys: []i32) : [][]i32 = map (add ys) xss
