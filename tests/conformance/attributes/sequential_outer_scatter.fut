-- The array that each row overwrites is its own, also where the body of the outer map has been renamed.
-- ==
-- input { [[[1, 2], [3, 4]], [[5, 6], [7, 8]]] 10 } output { [[[14, 16], [18, 22]], [[22, 28], [26, 34]]] }
-- input { empty([0][2][2]i32) 10 } output { empty([0][2][2]i32) }

def main [n][m][l] (xsss: [n][m][l]i32) (k: i32): [n][m][l]i32 =
  #[sequential_outer]
  map (\xss -> map (\xs ->
    let d = scatter (replicate 2 k) [1, 2] [xs[0], k]
    in map (+ (d[0] + 2 + d[1])) (scan (+) 0 xs)) xss) xsss
