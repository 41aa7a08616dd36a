-- The counter has the type of the bound.
-- ==
-- input { 0u8 0i64 }
-- output { 0u8 0i64 }
-- input { 255u8 100i64 }
-- output { 129u8 4950i64 }
-- input { 3u8 1i64 }
-- output { 3u8 0i64 }

def main (n: u8) (m: i64): (u8, i64) = (loop s = 0u8 for i < n do s + i, loop s = 0 for i < m do s + i)
