-- Floats may be divided by zero.
-- ==
-- input { 1.0f32 0.0f32 }
-- output { f32.inf }
-- input { 0.0f32 0.0f32 }
-- output { f32.nan }

def main (x: f32) (y: f32): f32 = x / y
