-- Abstract types whose sizes and parameters are hidden or shown: in branches, loops, records and arrays of them.
-- ==
-- input { 3i64 true } output { 6i64 3i64 [1, 0] }
-- input { 2i64 false } output { 1i64 2i64 [1, 0] }

module type bag = {
  type~ t
  val of: i64 -> t
  val grow: t -> t
  val total: t -> i64
}

module ints: bag = {
  type~ t = {elems: []i64}
  def of (n: i64): t = {elems = iota n}
  def grow (b: t): t = {elems = b.elems ++ [length b.elems]}
  def total (b: t) = i64.sum b.elems
}

module vectors: {
  type vec [n] 'a
  val zip_with [n] 'a 'b 'c: (a -> b -> c) -> vec [n] a -> vec [n] b -> vec [n] c
  val pack [n] 'a: [n]a -> vec [n] a
  val unpack [n] 'a: vec [n] a -> [n]a
} = {
  type vec [m] 't = [m](t, bool)
  def zip_with f xs ys = map2 (\(x, b) (y, c) -> (f x y, b && c)) xs ys
  def pack xs = map (\x -> (x, true)) xs
  def unpack [m] 't (xs: vec [m] t) = map (\(x, _) -> x) xs
}

def main (n: i64) (up: bool) =
  let bag = if up then ints.grow (ints.of n) else ints.of n
  let (bag, turns) = loop (b, k) = (bag, 0) while k < n && up do (b, k + 1)
  let twice = vectors.zip_with (-) (vectors.pack [2, 4]) (vectors.pack [1, 4])
  in (ints.total bag, if up then turns else n, vectors.unpack twice)
