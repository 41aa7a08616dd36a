-- A type that a module lacks.
-- ==
-- error: E0214

module m = { type t = i32 }
def main (x: m.u) = x
