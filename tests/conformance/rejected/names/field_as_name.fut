-- A field is no name.
-- ==
-- error: E0201

def main (r: {a: i32}) = a
