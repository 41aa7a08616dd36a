-- A type parameter that was not written may stand for a function where nothing needs data.
-- ==
-- input { 2 } output { 4 8 [6, 7] }

def call f x = f x
def twice f = f >-> f
def pick (b: bool) x _ = if b then 1 + x else x
def main (x: i32) =
  (call (call (i32.+) x) x, call twice (* x) x, map (call (call (+)) 4) [x, pick true x (\y -> y)])
