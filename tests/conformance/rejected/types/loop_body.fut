-- The body of a loop gives another type than the state.
-- ==
-- error: E0202

def main (n: i32) = loop x = 0i32 for i < n do f32.i32 i
