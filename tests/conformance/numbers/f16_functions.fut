-- Functions of halves are rounded once.
-- ==
-- input { [0.0f16, 0.25f16, 1.0f16, 2.5f16, 4.0f16] }
-- output {
--   [0.0f16, 0.5f16, 1.0f16, 1.581f16, 2.0f16] [1.0f16, 1.284f16, 2.719f16, 12.18f16, 54.6f16] [0.0f16,
--   0.2474f16, 0.8413f16, 0.5986f16, -0.757f16] [0.0f16, 0.2231f16, 0.6934f16, 1.253f16, 1.609f16]
-- }
-- input { empty([0]f16) }
-- output { empty([0]f16) empty([0]f16) empty([0]f16) empty([0]f16) }

def main (xs: []f16) = (map f16.sqrt xs, map f16.exp xs, map f16.sin xs, map (\x -> f16.log (x + 1)) xs)
