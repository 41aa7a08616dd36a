-- Functions cannot be compared.
-- ==
-- error: E0202

def main (x: i32) = (\y -> y + x) == (\y -> x + y)
