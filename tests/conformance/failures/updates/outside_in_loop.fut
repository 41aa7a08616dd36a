-- An update outside, in a loop.
-- ==
-- input { 3i64 2i64 }
-- output { [0i64, 1i64, 0i64] }
-- input { 3i64 4i64 }
-- error: R0101.*index \[3\]
-- input { 0i64 0i64 }
-- output { empty([0]i64) }

def main (n: i64) (k: i64): [n]i64 = loop a = replicate n 0 for i < k do a with [i] = i
