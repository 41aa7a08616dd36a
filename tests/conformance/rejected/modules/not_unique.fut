-- A result that the signature says to be unique, and is not.
-- ==
-- error: E0224

module m: { val f: []i32 -> *[]i32 } = { def f (xs: []i32): []i32 = xs }
def main (xs: []i32) = m.f xs
