-- A signature that hides sizes is not that of a value whose size is known, unless its definition says the type.
-- ==
-- error: E0224.*known

module type bag = { type~ bag  val none: bag  val some: bag  val two: (bag, bag) }
module said: bag = {
  type~ bag = []i32
  def none: bag = []
  def some: bag = [1, 2]
  def two: (bag, bag) = ([], [1])
}
module found: bag = {
  type~ bag = []i32
  def none = []
  def some: bag = [1, 2]
  def two: (bag, bag) = ([], [1])
}
def main = 1i32
