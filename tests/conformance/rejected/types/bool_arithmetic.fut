-- Truth values are no numbers.
-- ==
-- error: E0202

def main (b: bool) = b + b
