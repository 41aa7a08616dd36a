-- Functions that hold on to arrays of the program's own, and give out copies of them, elements or something made of them.
-- ==
-- input { 1i64 true } output { [1, 2, 3] [1, 7, 3] [1, 2, 3] 3 [9, 2, 3] [2, 3, 4] [1, 3, 6] }
-- input { 0i64 false } output { [1, 2, 3] [7, 2, 3] [0, 0, 0] 0 [9, 2, 3] [1, 2, 3] [1, 3, 6] }

def table: [3]i32 = [1, 2, 3]
def again = table
def get (_: i64) = copy again
def choose = let from (b: bool) = if b then copy table else replicate 3 0 in from
module m: { val all: i64 -> [3]i32 } = { def own = copy table def all (_: i64) = copy own }
module s: { type state  val start: state  val sums: state -> [3]i32 } = {
  type state = [3]i32
  def start: state = [1, 2, 3]
  def sums (s: state) = scan (+) 0 s
}
def summed (i: i64) = s.sums s.start
def add (t: [3]i32) (i: i64) = map (+ i32.i64 i) t
def shifted = add table
def first (t: [3]i32) (i: i64) = t[i]
def nth = first table

def main (i: i64) (b: bool) =
  (get i, get i with [i] = 7, choose b, if b then nth 2 else 0, m.all i with [0] = 9, shifted i, summed i)
