-- A chain of bindings that hide each other.
-- ==
-- input { 0 }
-- output { 6 }
-- input { 1 }
-- output { 12 }
-- input { -7 }
-- output { -36 }
-- input { 100 }
-- output { 606 }

def main (x: i32) = let x = x + 1 let x = x * 2 let y = x let x = x - y in let x = x + 3 in x * y
