-- A field consumed, then the whole record used.
-- ==
-- error: E0209

def main (r: *{a: []i32, b: i32}) = let c = r.a with [0] = r.b in (c, r)
