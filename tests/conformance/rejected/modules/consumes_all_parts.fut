-- A definition that consumes both parts of its argument, of which its signature says one.
-- ==
-- error: E0224

module m: { val f [n]: (*[n]i32, [n]i32) -> i32 } = { def f [n] ((xs, ys): *([n]i32, [n]i32)) = (xs with [0] = ys[0])[0] }
def main (xs: *[]i32) (ys: []i32) = m.f (xs, ys)
