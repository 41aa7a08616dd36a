-- Array literals of scalars, tuples and arrays.
-- ==
-- input { 0 }
-- output { [0, 0, 0] [[1, 0], [0, 4]] [true, false] [[[0]]] }
-- input { 7 }
-- output { [7, 14, 21] [[1, 7], [7, 4]] [true, false] [[[7]]] }

def main (x: i32): ([3]i32, [2][2]i32, []bool, [1][1][1]i32) =
  let ps = [(x, true), (x + 1, false)]
  in ([x, x * 2, x * 3], [[1, x], [x, 4]], map (.1) ps, [[[x]]])
