-- A local function has one type, which its uses determine, unless type parameters are written.
-- ==
-- error: E0202

def written (x: i32) = let id 'a (y: a) = y in (id x, id true)
def main (x: i32) = let id y = y in (id x, id true)
