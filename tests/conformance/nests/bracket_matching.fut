-- Depths of brackets by a scan, and whether they match.
-- ==
-- input { [40u8, 97u8, 40u8, 98u8, 41u8, 99u8, 41u8, 40u8, 41u8] }
-- output { [1, 1, 2, 2, 1, 1, 0, 1, 0] true }
-- input { [40u8, 41u8, 41u8, 40u8] }
-- output { [1, 0, -1, 0] false }
-- input {
--   [40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8, 40u8,
--   40u8]
-- }
-- output { [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18] false }
-- input { [120u8] }
-- output { [0] true }
-- input { empty([0]u8) }
-- output { empty([0]i32) true }

def main (s: []u8) = let d = scan (+) 0 (map (\c -> if c == '(' then 1i32 else if c == ')' then -1 else 0) s) in (d, null d || (all (>= 0) d && last d == 0))
