-- A loop that exchanges its parameters: each result may be any of the initial values.
-- ==
-- error: E0209

def main (as: []i32) (bs: []i32) (cs: *[]i32) =
  let (xs, _, _) = loop (x, y, z) = (as, bs, cs) for _i < 2 do (y, z, x)
  let cs[0] = 42
  in (xs, cs)
