-- Both parts have the size that the type names.
-- ==
-- error: E0203

type^ both = ?[n]. ([n]bool, bool -> [n]bool)
def make (x: i64) : both = let y = x + 1 in (replicate y true, \b -> replicate x b)
def main (x: i64) = (make x).0
