-- All places where a word occurs.
-- ==
-- input { [97u8, 98u8, 114u8, 97u8, 99u8, 97u8, 100u8, 97u8, 98u8, 114u8, 97u8] [97u8, 98u8, 114u8, 97u8] }
-- output { [0i64, 7i64] }
-- input { [97u8, 97u8, 97u8, 97u8] [97u8, 97u8] }
-- output { [0i64, 1i64, 2i64] }
-- input { [120u8] [120u8, 121u8, 122u8] }
-- output { empty([0]i64) }
-- input { [104u8, 101u8, 108u8, 108u8, 111u8] [122u8] }
-- output { empty([0]i64) }
-- input { empty([0]u8) [97u8] }
-- output { empty([0]i64) }

def main [n][k] (s: [n]u8) (p: [k]u8): []i64 = filter (\i -> and (map (\j -> s[i + j] == p[j]) (iota k))) (iota (i64.max 0 (n - k + 1)))
