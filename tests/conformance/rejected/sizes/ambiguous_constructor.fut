-- Nothing says the size of the constructor that is not there.
-- ==
-- error: [Aa]mbiguous size

type~ either = #left ([]i32) | #right ([]i32)

def main (xs: []i32) =
  let e : either = #left xs
  in match e
     case #left ys -> i32.sum ys
     case #right _ -> 0
