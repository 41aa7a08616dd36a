-- The body of a functor is checked though it is never applied: all that is known of the parameter is its type.
-- ==
-- error: E0202

module f (P: { type t val x: t }) = { def y: i32 = P.x }
def main = 1i32
