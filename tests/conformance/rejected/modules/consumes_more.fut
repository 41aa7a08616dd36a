-- A definition that consumes its argument, which its signature does not say.
-- ==
-- error: E0224

module m: { val f [n]: [n]i32 -> i32 } = { def f [n] (xs: *[n]i32) = (xs with [0] = 1)[0] }
def main (xs: []i32) = m.f xs
