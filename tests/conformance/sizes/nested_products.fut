-- The operators of a size associate to the left: `a * b * c` is `(a * b) * c` when its parts are wanted.
-- ==
-- input { [1, 2] }
-- output { 6i64 [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]] [1, 2, 3] [4] [[1, 2], [3, 4]] }

def rows [a] [b] [c] (xs: [a * b * c]i32) = unflatten xs
def cube [n] (_: [n]i32) = (iota (2 * n * 3) |> map i32.i64 |> unflatten_3d : [2][n][3]i32)
def cut (xs: [2 + 1 + 1]i32) = split xs
def twice [n] [m] (xs: [n][m]i32) = flatten_3d (replicate 2 xs) |> unflatten_3d

def main (xs: []i32) =
  let table : [2 * 3][1]i32 = rows ([[[1], [2], [3]], [[4], [5], [6]]] |> flatten_3d)
  let (s, t) = cut ([1, 2, 3, 4] :> [2 + 1 + 1]i32)
  let both = twice [[1, 2], [3, 4]]
  in (length table, cube xs, s, t, both[1])
