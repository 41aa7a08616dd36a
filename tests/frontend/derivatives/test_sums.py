"""The adjoint of a matrix product is two matrix products: nothing of the size of all products is made."""

from __future__ import annotations

import pytest

from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.traverse import types_in

PRODUCTS = {
    "rows": r"\(a, b) -> map (\r -> map (\c -> f64.sum (map2 (*) r c)) b) a",
    "transposed": r"\(a, b) -> map (\r -> map (\c -> 2 * f64.sum (map2 (*) r c)) (transpose b)) a",
}


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_no_array_of_three_dimensions(product: str) -> None:
    text = f"entry f [n] (a: [n][n]f64) (b: [n][n]f64) (y: [n][n]f64) = vjp ({product}) (a, b) y"
    assert max(t.rank for t in types_in(simplify(compile_text(text, "t.soac"))).values()) == 2
