-- A member that the module lacks.
-- ==
-- error: E0201

module m = { def a = 1i32 }
def main (x: i32) = m.b + x
