-- A size of an abstract type that no value of the type shows.
-- ==
-- error: E0224

module m: { type t [n] [k] } = { type t [n] [k] = [n + k]i32 }
def main = 1i32
module f: { type^ t [n] } = { type^ t [n] = [n]i32 -> i64 }
