-- The array has as many elements as the shape asks for, but there is no such shape.
-- ==
-- input { 2i64 3i64 } output { [[0i64, 1i64, 2i64], [3i64, 4i64, 5i64]] }
-- input { -1i64 -4i64 } error: Cannot unflatten.*\[4\].*\[-1\]\[-4\]

def main (n: i64) (m: i64): [n][m]i64 = unflatten (iota (n * m))
