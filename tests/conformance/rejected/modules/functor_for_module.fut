-- A functor where a module is wanted, and a module where a functor is.
-- ==
-- error: E0224

module f (P: {}) = { def x = 1i32 }
module g: { val x: i32 } = f
module h: (P: {}) -> { val x: i32 } = { def x = 1i32 }
def main = 1i32
