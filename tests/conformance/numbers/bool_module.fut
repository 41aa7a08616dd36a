-- Comparison and operators of truth values.
-- ==
-- input { false false }
-- output { true false true true false false false false }
-- input { false true }
-- output { false true false true false true true true }
-- input { true false }
-- output { false false true false false true true true }
-- input { true true }
-- output { true false true false true true false false }

def main (a: bool) (b: bool) = (a == b, a < b, a >= b, bool.not a, a & b, a | b, a ^ b, a != b)
