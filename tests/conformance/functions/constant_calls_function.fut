-- A constant that is made by a function which uses another constant, and is too large to be copied to each call.
-- ==
-- input { 3i64 } output { [2, 1, 21] 46 }
-- input { 0i64 } output { empty([0]i32) 46 }
def modulus = opaque 31i32

def mixed (x: i32) : i32 =
  let a = (x * 7 + 3) % modulus
  let b = (a * a + x) % modulus
  let c = if b > 15 then b - a else b + a * 2
  let d = (c * 5 + a * b) % modulus
  let e = (d * d - c) % modulus
  let f = if e < a then e * 3 + d else e - d
  let g = (f * 11 + e) % modulus
  let h = (g * g + f * d) % modulus
  let i = if h == b then h + 1 else h * 2 - b
  in (i * 13 + g + h) % modulus

def table = [mixed 1, mixed 2, mixed 3]

def most = i32.maximum table + mixed 4

def main (n: i64) = (map (\i -> mixed (table[i] + i32.i64 i)) (iota n), most + mixed (i32.i64 n) - mixed (i32.i64 n))
