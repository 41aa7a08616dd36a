-- A section is needed before its operand's size is known.
-- ==
-- error: causality

def main (xs: []i32) (yss: [][]i32) = map (filter (> 0) xs ++) yss
