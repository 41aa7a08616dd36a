-- The result of a functor lacks what its signature says.
-- ==
-- error: E0224

module f (P: { val x: i32 }): { val y: i32 } = { def z = P.x }
def main = 1i32
