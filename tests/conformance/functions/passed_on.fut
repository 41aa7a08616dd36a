-- A functional argument is passed through several functions.
-- ==
-- input { 0 }
-- output { 0 8 }
-- input { 1 }
-- output { 81 9 }
-- input { -7 }
-- output { -567 1 }
-- input { 100 }
-- output { 8100 108 }

def app (f: i32 -> i32) (x: i32) = f x
def app2 f (x: i32) = app f (app f x)
def app4 f x = app2 (app2 f) x
def main (x: i32) = (app4 (* 3) x, app4 (app2 (+ 1)) x)
