-- A definition may be more general than its specification: types, sizes, ownership.
-- ==
-- input { [1, 2] } output { [1, 2] [3, 3] 2i64 5 [9, 2] }

module m: {
  val same [n]: [n]i32 -> [n]i32
  val both [n]: [n]i32 -> [n]i32 -> i64
  val fill: i64 -> []i32
  val apply: (i32 -> i32) -> i32
  val set [n]: *[n]i32 -> *[n]i32
} = {
  def same 'a (x: a): a = x
  def both [n] [k] 'a (xs: [n]a) (ys: [k]a) = (length xs + length ys) / 2
  def fill n = replicate n 3i32
  def apply 'b (f: i32 -> b): b = f 4
  def set [n] (xs: *[n]i32): *[n]i32 = xs with [0] = 9
}

def main (xs: []i32) = (m.same xs, m.fill 2, m.both xs xs, m.apply (+ 1), m.set (copy xs))
