-- The same bits in another order.
-- ==
-- input { -1 1 }
-- output { true false -1 2147483647 }
-- input { 3 5 }
-- output { true true 1 1 }
-- input { -2147483648 2147483647 }
-- output { true false -1073741824 1073741824 }

def main (x: i32) (y: i32): (bool, bool, i32, i32) = (x < y, u32.i32 x < u32.i32 y, x >> 1, i32.u32 (u32.i32 x >> 1))
