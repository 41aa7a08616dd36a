-- A definition of whose result one part is unique, where the signature says both.
-- ==
-- error: E0224

module m: { val f [n]: [n]i32 -> *([n]i32, [n]i32) } = { def f [n] (xs: [n]i32): (*[n]i32, [n]i32) = (copy xs, xs) }
def main (xs: []i32) = (m.f xs).1
