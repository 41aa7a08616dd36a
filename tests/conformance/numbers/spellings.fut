-- Spellings of numbers.
-- ==
-- entry: spelt
-- input { } output { 12.0 -12.0 0.5f32 14 1999 -128i8 -1i16 1000000 2f32 1e-3 255u8 }
entry spelt = (0x1.8p3, -0x1.8p3, 0x1.0p-1f32, 0rXIV, 0rMCMXCIX, 0x80i8, 0b1111_1111_1111_1111i16, 1_000_000, 2f32, 1e-3, 0xffu8)
