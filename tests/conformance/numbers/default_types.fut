-- Without anything else, integers are i32 and decimals f64.
-- ==
-- input { true }
-- output { -2147483648 0.30000000000000004 1 }
-- input { false }
-- output { -2147483648 0.30000000000000004 2 }

def main (b: bool) = let x = 2147483647 let y = 0.1 in (x + 1, y * 3, if b then 1 else 2)
