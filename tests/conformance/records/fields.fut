-- Field access, punning, and the order of fields does not matter.
-- ==
-- input { 2 3 }
-- output { 6 9 -1 }
-- input { 0 5 }
-- output { 0 5 -5 }
-- input { -1 4 }
-- output { -4 0 -5 }

def area (r: {w: i32, h: i32}) = r.w * r.h
def main (w: i32) (h: i32) = let r = {h, w} in (area r, area {w = h, h = w + 1}, r.w - r.h)
