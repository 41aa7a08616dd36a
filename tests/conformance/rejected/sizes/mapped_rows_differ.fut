-- The size of a row cannot depend on the row.
-- ==
-- error: anonymous sizes

def main (ns: []i64) = map (\n -> iota n) ns
