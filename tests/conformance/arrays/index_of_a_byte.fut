-- Elements of a table by bytes: in bounds, beyond the end, below the first one, and of a table without elements.
-- ==
-- entry: unsigned
-- input { [7u8, 8u8] [0u8, 1u8, 1u8] } output { [7u8, 8u8, 8u8] }
-- input { [7u8] [0u8, 255u8] } error: index \[255\] out of bounds
-- input { empty([0]u8) [255u8] } error: index \[255\] out of bounds
-- random input { [256]u8 [100]u8 } auto output
-- ==
-- entry: signed
-- input { [7u8, 8u8] [1i8, 0i8] } output { [8u8, 7u8] }
-- input { [7u8] [0i8, -1i8] } error: index \[-1\] out of bounds

entry unsigned [n] [m] (t: [n]u8) (is: [m]u8) : [m]u8 = map (\i -> t[i64.u8 i]) is

entry signed [n] [m] (t: [n]u8) (is: [m]i8) : [m]u8 = map (\i -> t[i64.i8 i]) is
