-- Also inside a record.
-- ==
-- error: E0

type t = {a: []i32, b: i32}
def main (x: t) = x.b
