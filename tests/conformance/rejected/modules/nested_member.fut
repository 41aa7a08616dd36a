-- A member of a module inside a module, and a duplicate in a module type.
-- ==
-- error: m.x

module type s = { module m: { val x: bool } }
module a: s = { module m = { def x = 1i32 } }
module type d = { val x: i32 val x: i32 }
def main = 1i32
