-- Strings are arrays of bytes in UTF-8.
-- ==
-- input { [72u8, 101u8, 108u8, 108u8, 111u8, 44u8, 32u8, 122u8, 33u8] }
-- output { 3i64 [104u8, 195u8, 169u8] [72u8, 69u8, 76u8, 76u8, 79u8, 44u8, 32u8, 90u8, 33u8] }
-- input { empty([0]u8) }
-- output { 3i64 [104u8, 195u8, 169u8] empty([0]u8) }

def main [n] (s: [n]u8) = (length "a\nb", "hé", map (\c -> if c >= 'a' && c <= 'z' then c - 32 else c) s)
