"""The programs: which values of the suite each one takes and gives, and when results are equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

PROGRAMS = Path(__file__).parent / "programs"


class Table(Enum):
    """In which table a program stands: with those whose peers call a library for most of the work, or not."""

    KERNELS = "kernels"
    PRODUCTS = "products (peers call BLAS)"
    SOLVERS = "factorisations and solvers (peers call LAPACK)"


@dataclass(frozen=True, slots=True)
class Case:
    """A program. `takes` are the arguments, by the suite's names; the results are what the suite's function returns
    and then `changes`, the arguments that it is called to change. It also writes to `spoils`. `relative` is the
    tolerance for f64, `apart` the share of the elements that rounding may change altogether."""

    name: str
    takes: str
    changes: str = ""
    spoils: str = ""
    table: Table = Table.KERNELS
    relative: float = 1e-6
    apart: float = 0.0

    @property
    def path(self) -> Path:
        return PROGRAMS / f"{self.name}.soac"

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Those of the program among the suite's values."""
        return components(values[name] for name in self.takes.split())

    def results(self, returned: Any, values: Mapping[str, Any]) -> list[Any]:
        """The results of a version that works in place, from what it returned and what it left in its arguments."""
        named = self.spoils if returned is None and not self.changes else self.changes
        return components([*one_by_one(returned), *(values[name] for name in named.split())])


def one_by_one(returned: Any) -> Sequence[Any]:
    """What a function returned: nothing, a value or several."""
    if returned is None:
        return ()
    return returned if isinstance(returned, tuple | list) else (returned,)


def components(values: Any) -> list[Any]:
    """Arrays of complex numbers become two arrays, as the language has none."""
    found: list[Any] = []
    for value in values:
        if np.iscomplexobj(value):
            found += [np.ascontiguousarray(np.real(value)), np.ascontiguousarray(np.imag(value))]
        else:
            found.append(value)
    return found


def difference(case: Case, got: Sequence[Any], wanted: Sequence[Any]) -> str | None:
    """None if results are equal up to rounding, else how they differ."""
    if len(got) != len(wanted):
        return f"{len(got)} results instead of {len(wanted)}"
    for place, (one, other) in enumerate(zip(got, wanted)):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape:
            return f"result {place} has the shape {a.shape} instead of {b.shape}"
        if (share := share_apart(a, b, case.relative)) > case.apart:
            return f"result {place}: {share:.2%} of the elements differ"
    return None


def unordered_difference(case: Case, got: Sequence[Any], wanted: Sequence[Any]) -> str | None:
    """`difference` for a version that gives its results in another order, and perhaps more of its values or fewer."""
    few, many = sorted((got, wanted), key=len)
    alone = [place for place, one in enumerate(few) if all(difference(case, [one], [other]) for other in many)]
    if alone or not few:
        return f"results {alone} of {len(got)} are not among {len(wanted)}"
    return None


def share_apart(a: np.ndarray, b: np.ndarray, relative: float) -> float:
    """The share of the elements that differ; relative to themselves, and for small ones to the largest."""
    if not a.size:
        return 0.0
    if a.dtype.kind in "iub" and b.dtype.kind in "iub":
        return float(np.mean(a != b))
    tolerance = max(relative, 1e-3) if np.float32 in (a.dtype, b.dtype) else relative
    scale = float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0))
    return float(np.mean(~np.isclose(a, b, rtol=tolerance, atol=1e-2 * tolerance * scale, equal_nan=True)))


def _listed() -> Iterator[Case]:
    yield Case("adi", "TSTEPS u", spoils="u")
    yield Case("arc_distance", "theta_1 phi_1 theta_2 phi_2")
    yield Case("atax", "A x", table=Table.PRODUCTS)
    yield Case("azimint_hist", "data radius npt")
    yield Case("azimint_naive", "data radius npt")
    yield Case("bicg", "A p r", table=Table.PRODUCTS)
    yield Case("cavity_flow", "nt nit u v dt dx dy p rho nu", "u v p")
    yield Case("channel_flow", "nit u v dt dx dy p rho nu F", "u v p")
    yield Case("cholesky", "A", "A")
    yield Case("cholesky2", "A", "A", table=Table.SOLVERS)
    yield Case("compute", "array_1 array_2 a b c")
    yield Case("contour_integral", "slab_per_bc Ham int_pts Y", table=Table.SOLVERS)
    yield Case("conv2d_bias", "input weights bias")
    yield Case("correlation", "float_n data", spoils="data", table=Table.PRODUCTS)
    yield Case("covariance", "float_n data", spoils="data", table=Table.PRODUCTS)
    yield Case("covariance2", "data", table=Table.PRODUCTS)
    yield Case("crc16", "data")
    yield Case("deriche", "alpha imgIn")
    yield Case("doitgen", "A C4", "A", table=Table.PRODUCTS)
    yield Case("durbin", "r", relative=1e-3)
    yield Case("fdtd_2d", "ex ey hz _fict_", "ex ey hz")
    yield Case("floyd_warshall", "path", "path")
    yield Case("gemm", "alpha beta C A B", "C", table=Table.PRODUCTS)
    yield Case("gemver", "alpha beta A u1 v1 u2 v2 w x y z", "A w x", table=Table.PRODUCTS)
    yield Case("gesummv", "alpha beta A B x", table=Table.PRODUCTS)
    yield Case("go_fast", "a")
    yield Case("gramschmidt", "A", "A")
    yield Case("hdiff", "in_field coeff", "out_field")
    yield Case("heat_3d", "TSTEPS A B", "A B")
    yield Case("jacobi_1d", "TSTEPS A B", "A B")
    yield Case("jacobi_2d", "TSTEPS A B", "A B")
    yield Case("k2mm", "alpha beta A B C D", "D", table=Table.PRODUCTS)
    yield Case("k3mm", "A B C D", table=Table.PRODUCTS)
    weights = "conv1 conv1bias conv2 conv2bias fc1w fc1b fc2w fc2b fc3w fc3b"
    yield Case("lenet", f"input {weights}")
    yield Case("lu", "A", "A")
    yield Case("ludcmp", "A b", "A")
    bounds = "xmin xmax ymin ymax XN YN maxiter horizon"
    yield Case("mandelbrot1", bounds, apart=1e-3)
    yield Case("mandelbrot2", bounds, apart=1e-3)
    yield Case("mlp", "input w1 b1 w2 b2 w3 b3", table=Table.PRODUCTS)
    yield Case("mvt", "x1 x2 y_1 y_2 A", "x1 x2", table=Table.PRODUCTS)
    yield Case("nbody", "mass pos vel Nt dt G softening", spoils="pos vel", relative=1e-4)
    yield Case("nussinov", "seq")
    yield Case("resnet", "input conv1 conv2 conv3")
    yield Case("scattering_self_energies", "neigh_idx dH G D Sigma", "Sigma")
    yield Case("seidel_2d", "TSTEPS A", "A")
    yield Case("softmax", "x")
    yield Case("spmv", "A_row A_col A_val x")
    yield Case("stockham_fft", "R K x", "y")
    yield Case("symm", "alpha beta C A B", "C")
    yield Case("syr2k", "alpha beta C A B", "C")
    yield Case("syrk", "alpha beta C A", "C")
    yield Case("trisolv", "L b", "x")
    yield Case("trmm", "alpha A B", "B")
    yield Case("vadv", "utens_stage u_stage wcon u_pos utens dtr_stage", "utens_stage")


CASES: Mapping[str, Case] = {case.name: case for case in _listed()}
