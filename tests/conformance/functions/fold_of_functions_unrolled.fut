-- Functions chosen from a record by a match, in a loop.
-- ==
-- input { empty([0]i32) 0 }
-- output { empty([0]i32) }
-- input { empty([0]i32) 1 }
-- output { empty([0]i32) }
-- input { empty([0]i32) 7 }
-- output { empty([0]i32) }
-- input { [46] 0 }
-- output { [46] }
-- input { [46] 1 }
-- output { [47] }
-- input { [46] 7 }
-- output { [182] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] 0 }
-- output { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] 1 }
-- output { [47, 1, -44, 11, -35, 21, -25, 31, -15, 40, -5, 50, 5, -41, 14, -31, 24] }
-- input { [46, 0, -45, 10, -36, 20, -26, 30, -16, 39, -6, 49, 4, -42, 13, -32, 23] 7 }
-- output { [182, -2, -182, 38, -146, 78, -106, 118, -66, 154, -26, 194, 14, -170, 50, -130, 90] }

def step (k: i32) (x: i32) = match k % 3 case 0 -> x + 1 case 1 -> x * 2 case _ -> x - 3
def main (xs: []i32) (n: i32) = map (\x -> loop x for i < n do step i x) xs
