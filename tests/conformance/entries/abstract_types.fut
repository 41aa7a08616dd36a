-- Entry points that take and give values of abstract types, one of which hides a size.
-- ==
-- entry: use
-- input { 3i64 } output { 3i64 }
-- ==
-- entry: size
-- input { [4i64, 5i64] } output { 2i64 }

module m: {
  type~ t
  val mk: i64 -> t
  val size: t -> i64
  type p
  val pair: i64 -> p
} = {
  type~ t = []i64
  def mk n: t = iota n
  def size (x: t) = length x
  type p = (i64, bool)
  def pair n = (n, true)
}

entry mk (n: i64) = m.mk n
entry size (x: m.t) = m.size x
entry pair (n: i64) = m.pair n
entry use (n: i64) = size (mk n)
