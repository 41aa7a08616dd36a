-- A result of an entry point whose size is for the caller to say.
-- ==
-- error: E0219

def nothing 'a (x: i64) : (i64, [0]a) = (x, [])
entry main (x: i64) : (i64, [][]f32) = nothing x
