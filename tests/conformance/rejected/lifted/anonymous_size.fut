-- A type with an anonymous size needs `type~`.
-- ==
-- error: E0

type t = []i32
def main (x: t) = length x
