"""Entry points that PyTorch differentiates."""

from __future__ import annotations

from typing import Any

import pytest

import soac

torch: Any = pytest.importorskip("torch")

PROGRAM = soac.compile(r"""
entry f [n] (w: [n]f64) (x: [n]f64) (k: i32) (c: f64): (f64, i64, [n]f64) =
  (f64.sum (map2 (\a b -> f64.sin (a * b) * c) w x), n, map (** f64.i32 k) (map2 (*) w x))
entry loss [n][m] (w: [m]f32) (b: f32) (xs: [n][m]f32) (ys: [n]f32): f32 =
  f32.sum (map2 (\x y -> (f32.sum (map2 (*) w x) + b - y) ** 2) xs ys) / f32.i64 n
entry twice [n] (xs: [n]f64): [n]f64 = map (* 2) xs
entry point (p: {x: f64, y: f64}): f64 = p.x
""")
F64 = torch.float64


def floats(w: Any, x: Any, c: Any) -> Any:
    """The results of `f` with derivatives."""
    return soac.torch_function(PROGRAM, "f")(w, x, 2, c)[0::2]


def test_gradients_of_both_modes_and_their_gradients() -> None:
    torch.manual_seed(0)
    args = [torch.rand(n, dtype=F64, requires_grad=True) for n in ((4,), (4,), ())]
    assert torch.autograd.gradcheck(floats, args, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(floats, args)


def test_functions_of_functions() -> None:
    w, x, c = torch.rand(3, dtype=F64), torch.rand(3, dtype=F64), torch.tensor(2.0, dtype=F64)
    total = lambda w: floats(w, x, c)[0]  # noqa: E731
    hessian = torch.func.hessian(total)(w)
    torch.testing.assert_close(hessian, torch.diag(-2 * x * x * torch.sin(w * x)))
    rows = torch.func.vmap(torch.func.grad(total), in_dims=1)(torch.stack([w, 2 * w], 1))
    torch.testing.assert_close(rows, 2 * x * torch.cos(torch.stack([w, 2 * w]) * x))


def test_trains_a_model() -> None:
    torch.manual_seed(0)
    xs, w, b = torch.randn(64, 3), torch.zeros(3, requires_grad=True), torch.zeros((), requires_grad=True)
    ys = xs @ torch.tensor([1.0, -2.0, 0.5]) + 0.25
    loss, step = soac.torch_function(PROGRAM, "loss"), torch.optim.SGD([w, b], lr=0.1)
    for _ in range(100):
        step.zero_grad()
        loss(w, b, xs, ys).backward()
        step.step()
    torch.testing.assert_close(w.detach(), torch.tensor([1.0, -2.0, 0.5]), atol=1e-3, rtol=0)
    torch.testing.assert_close(b.detach(), torch.tensor(0.25), atol=1e-3, rtol=0)


def test_no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program gets the memory of the tensors, and its results are the tensors."""
    seen: list[int] = []
    call = soac.Program.call

    def noted(self: soac.Program, entry: str, args: Any) -> Any:
        results = call(self, entry, args)
        seen.extend(array.ctypes.data for array in (*args, *results))
        return results

    monkeypatch.setattr(soac.Program, "call", noted)
    xs = torch.rand(1000, dtype=F64, requires_grad=True)
    ys = soac.torch_function(PROGRAM, "twice")(xs)
    adjoint = torch.ones(1000, dtype=F64)
    (found,) = torch.autograd.grad(ys, xs, adjoint)
    pointers = [one.data_ptr() for one in (xs, ys, xs, adjoint, found)]
    assert seen == pointers


def test_only_what_wants_a_gradient() -> None:
    w, xs = torch.rand(3, requires_grad=True), torch.rand(2, 3)
    soac.torch_function(PROGRAM, "loss")(w, 0.0, xs, [0.5, 1.5]).backward()
    assert w.grad is not None
    assert xs.grad is None


def test_what_is_refused() -> None:
    with pytest.raises(soac.SettingError, match="takes or gives a record"):
        soac.torch_function(PROGRAM, "point")
    with pytest.raises(soac.DataError, match=r"expected \[\]f64, got \[3\]f32"):
        soac.torch_function(PROGRAM, "twice")(torch.rand(3))
