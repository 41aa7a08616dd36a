-- A refinement by another type than that of the module.
-- ==
-- error: E0224

module type s = { type t }
module m: s with t = f32 = { type t = i32 }
def main = 1i32
