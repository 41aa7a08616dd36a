-- One type defined twice.
-- ==
-- error: E0205

type t = i32
type t = i64
def main (x: t) = x
