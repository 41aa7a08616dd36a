-- Values of another type than the histogram.
-- ==
-- error: E0202

def main (is: []i64) = hist (+) 0i32 5 is (map f32.i64 is)
