-- highest, lowest and num_bits of every integer type.
-- ==
-- input { 0 }
-- output {
--   -128i8 127i8 -32768i16 32767i16 -2147483648 2147483647 -9223372036854775808i64 9223372036854775807i64
--   0u8 255u8 65535u16 4294967295u32 18446744073709551615u64 8 64 32
-- }

def main (_: i32) = (i8.lowest, i8.highest, i16.lowest, i16.highest, i32.lowest, i32.highest, i64.lowest, i64.highest,
                     u8.lowest, u8.highest, u16.highest, u32.highest, u64.highest, i8.num_bits, u64.num_bits, f32.num_bits)
