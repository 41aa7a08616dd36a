-- A map that gives functions.
-- ==
-- error: E0218

def main (xs: []i32) = let fs = map (\x -> (+ x)) xs in length fs
