-- A match in a match, in a loop.
-- ==
-- input { 0 }
-- output { 0 }
-- input { 1 }
-- output { 1 }
-- input { 2 }
-- output { 4 }
-- input { 3 }
-- output { 3 }
-- input { 20 }
-- output { 256 }

def main (n: i32) = loop s = 0 for i < n do match i % 3 case 0 -> s + 1 case 1 -> (match s % 2 case 0 -> s * 2 case _ -> s + 3) case _ -> s - 1
