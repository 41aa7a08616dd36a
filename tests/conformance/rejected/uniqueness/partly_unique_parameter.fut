-- Only the unique part of a pair may be consumed.
-- ==
-- error: E0221.*`p.1`

def f (p: (*[]i32, []i32)) = (p.0 with [0] = 1, p.1 with [0] = 2)
def main (a: *[]i32) (b: []i32) = f (a, b)
