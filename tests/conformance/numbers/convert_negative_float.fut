-- A negative float to an unsigned type gives the bits of the signed type of that width.
-- ==
-- entry: from_f32
-- input { [-1f32, -3.5f32, -0.5f32, -1000f32, -1e30f32, f32.nan, -f32.inf] }
-- output { [255u8, 253u8, 0u8, 128u8, 128u8, 0u8, 0u8]
--          [65535u16, 65533u16, 0u16, 64536u16, 32768u16, 0u16, 0u16]
--          [4294967295u32, 4294967293u32, 0u32, 4294966296u32, 2147483648u32, 0u32, 0u32]
--          [18446744073709551615u64, 18446744073709551613u64, 0u64, 18446744073709550616u64, 9223372036854775808u64, 0u64, 0u64] }
-- ==
-- entry: from_f64
-- input { [-1f64, -3.5f64, -0.5f64, 4294967295f64, 1e30f64] }
-- output { [4294967295u32, 4294967293u32, 0u32, 4294967295u32, 4294967295u32] }
entry from_f32 (xs: []f32) = (map u8.f32 xs, map u16.f32 xs, map u32.f32 xs, map u64.f32 xs)
entry from_f64 = map u32.f64
