-- Division by zero at other types.
-- ==
-- input { 1u8 2i64 3u64 }
-- output { 1u8 1i64 0u64 }
-- input { 0u8 2i64 3u64 }
-- error: R0102
-- input { 1u8 0i64 3u64 }
-- error: R0102
-- input { 1u8 2i64 0u64 }
-- error: R0102

def main (a: u8) (b: i64) (c: u64) = (1u8 / a, 1i64 % b, 1u64 // c)
