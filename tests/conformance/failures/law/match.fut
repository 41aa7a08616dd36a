-- Only the case that fits is computed.
-- ==
-- input { 0 [10] }
-- output { 10 }
-- input { 1 [10] }
-- error: R0101.*index \[1\]
-- input { 2 [10, 20] }
-- error: R0101.*index \[2\]

def main (x: i32) (xs: []i32): i32 = match x case 0 -> xs[0] case 1 -> xs[1] case _ -> xs[2]
