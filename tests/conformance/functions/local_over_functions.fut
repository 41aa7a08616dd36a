-- A local function of functions, of the one type that its use gives it; its sizes may differ.
-- ==
-- input { 3 [1, 2] [4, 5, 6] } output { 4 6 [6, 9, 2, 1, 18] }

def halves (x: i32) = (x / 2, \y -> x + y)
def main (x: i32) (xs: []i32) (ys: []i32) =
  let both f (a, b) = (f a, f b)
  let ((a, f), (b, g)) = both halves (x, x + 2)
  let folded zs = foldl (+) x zs
  in (f a, g b - 1, [folded xs, g 4, b, a, folded ys])
