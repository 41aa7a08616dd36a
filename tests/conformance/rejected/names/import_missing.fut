-- A file that is not there.
-- ==
-- error: E0207

import "no_such_file"
def main (x: i32) = x
