-- A reduction whose operand depends on an outer variable and on an inner size.
-- ==
-- input { 0i64 }
-- output { 0i64 }
-- input { 1i64 }
-- output { 0i64 }
-- input { 2i64 }
-- output { 1i64 }
-- input { 17i64 }
-- output { 9996i64 }
-- input { 40i64 }
-- output { 314470i64 }

def main (n: i64): i64 = i64.sum (map (\i -> i64.sum (map (\j -> i * j) (iota (i + 1)))) (iota n))
