-- The type of a module takes another number of parameters.
-- ==
-- error: E0224

module m: { type t 'a } = { type t = i32 }
def main = 1i32
