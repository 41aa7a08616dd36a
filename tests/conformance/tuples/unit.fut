-- The unit value.
-- ==
-- input { 0 }
-- output { 7 0 }
-- input { 1 }
-- output { 7 1 }
-- input { -7 }
-- output { 7 -7 }
-- input { 100 }
-- output { 7 100 }

def f () = 7
def g (_: ()) (x: i32) = x
def main (x: i32) = let () = () let u = () in (f u, g () x)
