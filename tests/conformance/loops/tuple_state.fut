-- Four variables of four types.
-- ==
-- input { 0 }
-- output { 0 1.0 false 250u8 }
-- input { 1 }
-- output { 0 0.5 true 251u8 }
-- input { 7 }
-- output { 21 0.0078125 true 1u8 }
-- input { 10 }
-- output { 45 0.0009765625 false 4u8 }

def main (n: i32): (i32, f64, bool, u8) =
  loop (a, b, c, d) = (0, 1.0, false, 250u8) for i < n do (a + i, b * 0.5, !c, d + 1)
