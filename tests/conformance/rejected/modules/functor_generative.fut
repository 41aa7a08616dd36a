-- Every application of a functor with an abstract result gives a new type.
-- ==
-- error: E0202

module f (P: {}): { type t val x: t val use: t -> i32 } = { type t = i32 def x = 1i32 def use (x: i32) = x }
module a = f {}
module b = f {}
def main = a.use b.x
