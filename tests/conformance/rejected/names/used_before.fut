-- A definition is not known before its place.
-- ==
-- error: E0201

def main (x: i32) = later x
def later (x: i32) = x
