-- The module's own names hide those outside.
-- ==
-- input { 0 }
-- output { 1 22 20 }
-- input { 1 }
-- output { 2 22 20 }
-- input { -7 }
-- output { -6 22 20 }
-- input { 100 }
-- output { 101 22 20 }

def v = 1i32
module m = { def v = v + 1 def w = v * 10 def u = w + v }
def main (x: i32) = (x + v, m.u, m.w)
