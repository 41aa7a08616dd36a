-- Local functions with type parameters.
-- ==
-- input { 3 true }
-- output { 6 true 3 }
-- input { -3 false }
-- output { -6 false -3 }

def main (x: i32) (b: bool) = let dup 'a (v: a) = (v, v) let (p, q) = dup x let (r, _) = dup b in (p + q, r, (dup (dup x)).1.0)
