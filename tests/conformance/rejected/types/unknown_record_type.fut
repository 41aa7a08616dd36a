-- A field of something unknown.
-- ==
-- error: E02(02|12|17)

def main (x: i32) = (\r -> r.foo) x
