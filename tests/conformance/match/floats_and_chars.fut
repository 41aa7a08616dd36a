-- Cases of floats and of other integer types.
-- ==
-- input { 0.5 97u8 }
-- output { 1 1 }
-- input { 2.0 255u8 }
-- output { 2 2 }
-- input { 3.0 0u8 }
-- output { 3 3 }

def f (x: f64) = match x case 0.5 -> 1i32 case 2 -> 2 case _ -> 3
def g (c: u8) = match c case 'a' -> 1i32 case 255 -> 2 case _ -> 3
def main (x: f64) (c: u8) = (f x, g c)
