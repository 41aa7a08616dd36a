-- An ascription with another rank.
-- ==
-- error: E0202

def main (xs: []i32) = (xs : [][]i32)
