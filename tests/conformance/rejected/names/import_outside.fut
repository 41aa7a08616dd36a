-- A file outside the project.
-- ==
-- error: E0207

import "../../../../etc/passwd"
def main (x: i32) = x
