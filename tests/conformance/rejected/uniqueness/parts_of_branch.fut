-- Both parts are one array, though the other branch has consumed it under its own name.
-- ==
-- error: E0209

def main (c: bool) (n: i64) =
  let u = replicate n 0i32
  let p = (u, u)
  let (a, b) =
    if c then p
    else let v = p.0 with [0] = 5
         in (v, replicate n 2)
  let a[0] = 1
  in (a, b)
