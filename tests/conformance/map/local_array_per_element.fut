-- Every element makes an array of its own, updates it, and reads it.
-- ==
-- input { 0i64 }
-- output { empty([0]i64) }
-- input { 1i64 }
-- output { [107i64] }
-- input { 5i64 }
-- output { [107i64, 111i64, 115i64, 119i64, 123i64] }
-- input { 17i64 }
-- output {
--   [107i64, 111i64, 115i64, 119i64, 123i64, 127i64, 131i64, 135i64, 139i64, 143i64, 147i64, 151i64, 155i64,
--   159i64, 163i64, 167i64, 171i64]
-- }

def main (n: i64): [n]i64 =
  map (\i -> let a = replicate 5 i
             let a[2] = 7
             let a[i % 5] = a[i % 5] + 100
             in a[0] + a[1] + a[2] + a[3] + a[4]) (iota n)
