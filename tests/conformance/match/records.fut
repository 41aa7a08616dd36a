-- Cases of records.
-- ==
-- input { 0 0 }
-- output { 0 }
-- input { 0 5 }
-- output { 5 }
-- input { 1 0 }
-- output { 10 }
-- input { 1 5 }
-- output { 10 }
-- input { 3 0 }
-- output { 3 }
-- input { 3 5 }
-- output { 5 }
-- input { -3 0 }
-- output { 3 }
-- input { -3 5 }
-- output { 5 }

def main (x: i32) (y: i32) = match {a = x, b = (y, x > y)} case {a = 1, b = _} -> 10 case {a, b = (0, t)} -> if t then a else -a case {a = _, b = (b, _)} -> b
