-- The state is a record.
-- ==
-- input { 0 }
-- output { 0 100 }
-- input { 1 }
-- output { 0 100 }
-- input { 2 }
-- output { 0 99 }
-- input { 9 }
-- output { 20 84 }

def main (n: i32): (i32, i32) =
  let r = loop r = {lo = 0, hi = 100} for i < n do if i % 2 == 0 then r with lo = r.lo + i else r with hi = r.hi - i
  in (r.lo, r.hi)
