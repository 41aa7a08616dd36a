-- Quotes of a word processor.
-- ==
-- error: E0102

def main (x: i32) = “abc”
