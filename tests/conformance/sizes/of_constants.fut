-- Sizes that are constants of the program: hidden ones, ones of a module, products of them that have to be inferred.
-- ==
-- input { [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }
-- output { [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13] 24 3i64 [8, 10] }

def rows = 3i64
def columns = rows + 1i64

module shop = {
  def shelves = 2i64
  def prices = [7, 8] :> [shelves]i32
}

def next (xs: *[rows * columns]i32) : *[rows * columns]i32 =
  let grid = unflatten xs
  in flatten (map (map (+ 1)) grid)

def above (xs: [columns]i32) = map2 (+) xs (replicate columns 1)

def main (xs: *[rows * columns]i32) =
  let ys = next xs
  let prices = map2 (+) (shop.prices : [shop.shelves]i32) (map i32.i64 (iota shop.shelves) |> map (+ 1))
  let outer =
    let rows = 5i64
    let grid = unflatten ys
    in assert (rows == 5) (length grid)
  in (ys, i32.sum (above ([1, 2, 3, 14] :> [columns]i32)), outer, prices)
