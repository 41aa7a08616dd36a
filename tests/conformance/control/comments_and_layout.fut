-- Comments, trailing commas, and layouts of all sorts.
-- ==
-- input { 0 }
-- output { -1 0 [0] }
-- input { 1 }
-- output { 0 1 [1] }
-- input { -7 }
-- output { -8 -7 [-7] }
-- input { 100 }
-- output { 99 100 [100] }

-- a comment -- with dashes
def f
  (x : i32,
   y : i32,) : -- another
  i32 = x --
  -   y
def main(x:i32)=let(a,b,)=(x,1,)in let xs=[a,b,]in(f(a,b),xs[0],xs[0:1],)
