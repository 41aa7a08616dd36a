-- What a signature hides does not hide names outside when the module is opened; a parameter is seen through its signature.
-- ==
-- input { 1 } output { 11 21 13 }

def inner (x: i32) = x + 10

module m: { val outer: i32 -> i32 } = { def inner (x: i32) = x + 20 def outer (x: i32) = inner x }
module f (P: { val outer: i32 -> i32 }) = { open P def both (x: i32) = inner (outer (x - 18)) }
module g = f { def inner (x: i32) = x + 1000 def outer = m.outer }

open m

def main (x: i32) = (inner x, outer x, g.both x)
