-- A loop's counter after the loop.
-- ==
-- error: E0201

def main (n: i32) = (loop s = 0 for i < n do s + i) + i
