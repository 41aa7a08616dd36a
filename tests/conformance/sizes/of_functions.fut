-- Sizes that apply functions of the program: the parameters in them are found from the sizes of the arguments.
-- ==
-- input { [1, 2, 3] 4 }
-- output { [1, 2, 3] 3i64 2i64 3i64 4i64 }

def inc (x: i64) = x + 1
def area (a: i64) (b: i64) : i64 = a * b + 1
def small (x: i32) : i64 = i64.i32 x

def grow [n] 't (x: t) (xs: [n]t) : [inc n]t = [x] ++ xs :> [inc n]t
def shrink [n] 't (xs: [inc n]t) : [n]t = xs[1:] :> [n]t
def sides [n] [m] (_: [area n m]i32) : (i64, i64) = (n, m)
def field (n: i64) (m: i64) : [area n m]i32 = replicate (area n m) 0
def copies (x: i32) : [small x]i32 = replicate (small x) x
def common [n] (_: [n]i32) (_: [n]i32) = n

def main (xs: []i32) (x: i32) =
  let (a, b) = sides (field 2 3)
  let ys = grow 2 xs
  let zs = grow 1 ys
  in (shrink (grow 2 xs), length (shrink (shrink zs)), a, b, common (copies x) (copies x))
