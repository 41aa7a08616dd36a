-- The size of a result is not the one that the signature says.
-- ==
-- error: E0224

module m: { val f [n]: [n]i32 -> [n]i32 } = { def f (xs: []i32) = filter (> 0) xs }
def main (xs: []i32) = m.f xs
