-- One parameter twice.
-- ==
-- error: E0205

def main (x: i32) (x: i32) = x
