-- A wider unsigned type takes the bits of a signed number, not its sign.
-- ==
-- entry: a
-- input { -1i8 -2i16 -3i32 -4i64 } output { 255u8 255u16 255u32 255u64 65534u32 65534u64 4294967293u64 253u8 18446744073709551612u64 }
-- ==
-- entry: b
-- input { -1i8 } output { 3u64 255i32 -1i32 }
entry a (a: i8) (b: i16) (c: i32) (d: i64) = (u8.i8 a, u16.i8 a, u32.i8 a, u64.i8 a, u32.i16 b, u64.i16 b, u64.i32 c, u8.i32 c, u64.i64 d)
entry b (a: i8) = (u64.i32 3, i32.u32 (u32.i8 a), i32.i8 a)
