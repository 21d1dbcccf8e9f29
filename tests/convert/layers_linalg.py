"""Decompositions and solvers of matrices in batches, of any size."""
import torch

from layer_cases import Case

L = torch.linalg
wide = range(9, 27)
PRECISE = (1e-9, 1e-10)


def square(*shape, dtype=torch.float32):
    return torch.randn(*shape, shape[-1], dtype=dtype) + torch.eye(shape[-1], dtype=dtype)


def positive(*shape, dtype=torch.float32):
    a = torch.randn(*shape, shape[-1], dtype=dtype)
    return a @ a.mT + torch.eye(shape[-1], dtype=dtype)


def each(name, function, inputs, specs=()):
    """In both dtypes; sizes that `specs` name differ between the sets of inputs."""
    doubles = [tuple(x.double() for x in made) for made in inputs]
    return {name: Case(function, inputs, specs, opsets=wide, tolerance=(1e-4, 1e-5)),
            f"{name}_f64": Case(function, doubles, tuple(s.replace("f32", "f64") for s in specs), opsets=wide, tolerance=PRECISE)}


def solvers():
    r = torch.randn
    sizes = [(square(3),), (square(1),), (square(6),), (square(0),)]
    batches = [(square(2, 4),), (square(3, 4),), (square(0, 4),)]
    tied = torch.tensor([[0., 2, 1], [2, 0, 1], [2, 2, 0]])
    singular = torch.tensor([[1., 2], [2, 4]])
    made = {}
    for name, f in {"inv": L.inv, "inv_ex": lambda a: L.inv_ex(a)[0], "inverse": torch.inverse}.items():
        made |= each(name, f, sizes, ("f32:n,n",)) | each(f"{name}_batch", f, batches, ("f32:b,4,4",))
    made |= each("inv_ties", L.inv, [(tied,)])
    made["inv_info"] = Case(lambda a: L.inv_ex(a)[1], [(singular,), (tied[:2, :2],), (torch.zeros(2, 2),)], opsets=wide)
    made |= each("solve", L.solve, [(square(4), r(4, 2)), (square(1), r(1, 1)), (square(0), r(0, 2)), (square(3), r(3, 0))], ("f32:n,n", "f32:n,k"))
    made |= each("solve_vector", L.solve, [(square(4), r(4)), (square(1), r(1)), (square(0), r(0))], ("f32:n,n", "f32:n"))
    made |= each("solve_vectors", L.solve, [(square(2, 3), r(2, 3))])
    made |= each("solve_one_vector", L.solve, [(square(2, 3), r(3))])
    made |= each("solve_broadcast", lambda a, b: (L.solve(a, b), L.solve_ex(a, b)[0]), [(square(2, 1, 3), r(4, 3, 2)), (square(5, 1, 3), r(1, 3, 2))], ("f32:a,1,3,3", "f32:b,3,2"))
    made |= each("solve_core", lambda a, b: torch._linalg_solve_ex(a, b, left=False)[0], [(square(4), r(2, 4))])
    made |= each("solve_core_vectors", lambda a, b: (torch._linalg_solve_ex(a, b)[0], torch._linalg_solve_ex(a, b)[3]), [(square(2, 3), r(2, 3))])
    made |= each("solve_right", lambda a, b: L.solve(a, b, left=False), [(square(4), r(2, 4))])
    for upper in (False, True):
        for left in (False, True):
            for unit in (False, True):
                made |= each(f"triangular_{upper}_{left}_{unit}", lambda a, b, u=upper, l=left, t=unit: L.solve_triangular(a, b, upper=u, left=l, unitriangular=t),
                             [(square(2, 3), r(4, 1, 3, 3)), (square(5, 3), r(4, 5, 3, 3))], ("f32:b,3,3", "f32:4,c,3,3"))
            made |= each(f"triangular_solve_{upper}_{left}",
                         lambda b, a, u=upper, t=left: torch.triangular_solve(b, a, upper=u, transpose=t),
                         [(r(2, 3, 2), square(3)), (r(1, 3, 2), square(3))], ("f32:b,3,2", "f32:3,3"))
        made |= each(f"cholesky_{upper}",
                     lambda a, u=upper: (L.cholesky(a, upper=u), torch.cholesky(a, upper=u), *L.cholesky_ex(a, upper=u)),
                     [(positive(3),), (positive(1),), (positive(6),), (positive(0),)], ("f32:n,n",))
        made |= each(f"cholesky_batch_{upper}", lambda a, u=upper: L.cholesky(a, upper=u), [(positive(2, 3),), (positive(0, 3),)], ("f32:b,3,3",))
        made |= each(f"cholesky_of_triangle_{upper}", lambda a, u=upper: L.cholesky(a, upper=u), [(positive(3).triu() if upper else positive(3).tril(),)])
        made |= each(f"cholesky_solve_{upper}", lambda b, a, u=upper: torch.cholesky_solve(b, a, upper=u),
                     [(r(2, 3, 2), square(3)), (r(5, 3, 2), square(3))], ("f32:b,3,2", "f32:3,3"))
        made |= each(f"cholesky_inverse_{upper}", lambda a, u=upper: torch.cholesky_inverse(a, upper=u), [(square(3),), (square(1),), (square(0),)], ("f32:n,n",))
    made["cholesky_info"] = Case(lambda a: L.cholesky_ex(a)[1],
                                 [(singular - torch.eye(2),), (tied,), (torch.zeros(3, 3),), (torch.eye(3) * float("nan"),)],
                                 ("f32:n,n",), opsets=wide)
    made |= each("matrix_power", lambda a: (L.matrix_power(a, -1), L.matrix_power(a, -3)), [(square(2, 3),), (square(1, 3),)], ("f32:b,3,3",))
    made |= each("tensorinv", lambda a: (L.tensorinv(a, ind=2), L.tensorinv(a.reshape(6, 2, 3), ind=1)), [(square(6).reshape(2, 3, 6),)])
    made |= each("tensorsolve", lambda a, b: L.tensorsolve(a, b), [(square(6).reshape(2, 3, 6), r(2, 3))])
    made |= each("tensorsolve_dims", lambda a, b: L.tensorsolve(a, b, dims=(0, 2)), [(r(3, 6, 2), r(6))])
    made |= each("matrix_exp", torch.matrix_exp, [(square(3),), (torch.zeros(2, 2),), (square(4) * 5,), (square(1),), (square(0),)], ("f32:n,n",))
    made |= each("matrix_exp_batch", torch.matrix_exp, [(square(3, 3) * torch.tensor([0.01, 1, 6]).reshape(3, 1, 1),)])
    return made


def factors():
    r = torch.randn
    tied = torch.tensor([[1., 2, 1], [-1, 2, 1], [2, 1, 0], [-2, 3, 0]])
    made = {}
    for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 5), (3, 1, 4, 4), (1, 1), (1, 3), (3, 1), (0, 0), (0, 3), (3, 0), (2, 0, 3)):
        name = "x".join(map(str, shape))
        inputs = [(r(*shape),), (r(*shape),)] + ([(tied[:shape[0], :shape[1]].clone(),)] if len(shape) == 2 and min(shape) > 1 and max(shape) < 4 else [])
        made |= each(f"lu_{name}", lambda a: (*L.lu(a), *L.lu_factor(a), *L.lu_factor_ex(a), *torch.lu_unpack(*L.lu_factor(a))), inputs)
        made |= each(f"lu_parts_{name}", lambda a: (torch.lu_unpack(*L.lu_factor(a), unpack_data=False)[0], *torch.lu_unpack(*L.lu_factor(a), unpack_pivots=False)[1:]), inputs)
        for mode in ("reduced", "complete", "r"):
            made |= each(f"qr_{mode}_{name}", lambda a, m=mode: L.qr(a, mode=m), inputs)
        if 0 not in shape:
            made |= each(f"geqrf_{name}", torch.geqrf, inputs)
            if shape[-2] >= shape[-1]:
                made |= each(f"householder_{name}", lambda a: (L.householder_product(*torch.geqrf(a)), torch.orgqr(*torch.geqrf(a))), inputs)
                made |= each(f"ormqr_{name}", lambda a: (torch.ormqr(*torch.geqrf(a), a), torch.ormqr(*torch.geqrf(a), a, transpose=True),
                                                         torch.ormqr(*torch.geqrf(a), a.mT, left=False)), inputs)
    made |= each("qr_of_named_size", lambda a: (*L.qr(a), *torch.qr(a, some=False), *L.lu(a)), [(r(3, 3),), (r(5, 5),)], ("f32:n,n",))
    made |= each("qr_of_zeros", L.qr, [(torch.zeros(3, 2),), (torch.tensor([[1., 2], [0, 0], [0, 3]]),), (torch.tensor([[-1., 2], [0, 0], [0, 3]]),)])
    made["lu_info"] = Case(lambda a: L.lu_factor_ex(a)[2], [(torch.tensor([[1., 2], [2, 4]]),), (torch.zeros(2, 2),), (torch.eye(2),)], opsets=wide)
    for left in (False, True):
        for adjoint in (False, True):
            made |= each(f"lu_solve_{left}_{adjoint}", lambda a, b, l=left, t=adjoint: L.lu_solve(*L.lu_factor(a), b, left=l, adjoint=t),
                         [(square(2, 3), r(4, 1, 3, 3)), (square(1, 3), r(4, 2, 3, 3))], ("f32:b,3,3", "f32:4,c,3,3"))
    made |= each("lu_solve_old", lambda a, b: torch.lu_solve(b, *L.lu_factor(a)), [(square(4), r(4, 2)), (square(1), r(1, 2)), (square(0), r(0, 2))], ("f32:n,n", "f32:n,2"))
    return made


def cases():
    return {f"linalg_{name}": case for name, case in {**solvers(), **factors()}.items()}
