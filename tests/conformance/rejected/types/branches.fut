-- Branches of two types.
-- ==
-- error: E0202

def main (b: bool) = if b then 1i32 else 2.0f32
