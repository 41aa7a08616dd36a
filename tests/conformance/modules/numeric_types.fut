-- The module types of the numeric modules, as parameters and as seals.
-- ==
-- input { 3 2f32 } output { 7 1073741824u32 3f64 11u8 2f32 }

module half : real = f16
module whole : numeric with t = i64 = i64
module single : float with t = f32 with int_t = u32 = f32
module double : float with t = f64 with int_t = u64 = f64
module byte : integral with t = u8 = u8

module twice (T: real) = { def of (x: T.t) = T.(x + x * i32 1 - i32 1) }
module of_f64 = twice double

module bits (T: integral) = { def mix (x: T.t) = T.((x %% i32 4) + (x & i32 4) + i32 4) }
module of_i32 = bits i32
module of_u8 = bits byte

module floats (T: float) = {
  type word = T.int_t
  def back (x: T.t) = T.from_bits (T.to_bits x)
}
module of_f32 = floats single

def main (x: i32) (y: f32) =
  (of_i32.mix x, (f32.to_bits y : of_f32.word), of_f64.of 2, of_u8.mix 7, of_f32.back y)
