-- Updates of a field of the records in an array.
-- ==
-- input { [1, 2, 3] [4, 5, 6] } output { [1, 7, 3] [4, 5, 6] [1, 2, 3] [9, 5, 6] }
def main [n] (xs: [n]i32) (ys: [n]i32) =
  let points = map2 (\x y -> {x, y}) xs ys
  let moved = copy points with [1] = {x = 7, y = 5}
  let raised = copy points with [0].y = 9
  in (map (.x) moved, map (.y) moved, map (.x) raised, map (.y) raised)
