-- One function applied several times: its results are separate, and each is updated.
-- ==
-- input { [1, 2] } output { [5, 2] [6, 2] [7, 7] [8, 7] [4, 4] }

def set (x: i32) (xs: *[]i32) = xs with [0] = x
def filled (n: i64) (x: i32): *[]i32 = replicate n x
def twice (f: i32 -> *[]i32) = (f 7 with [1] = 7, f 8 with [1] = 7)

def main (xs: []i32) =
  let f = \x -> set x (copy xs)
  let a = f 5
  let b = f 6
  let a[1] = 2
  let b[1] = 2
  let (c, d) = twice (filled 2)
  let g (n: i64) = filled n 3
  let e = g 2
  let e = loop e for i < 2 do e with [i] = e[i] + 1
  in (a, b, c, d, e)
