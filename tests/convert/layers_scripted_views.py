"""Scripted programs: Writes through what may be a view or a copy, and tensors that become other tensors."""
from typing import List

import torch
from torch import Tensor

from script_programs import Programs, FLAG, FLAGS, N3, SOME, r

programs = Programs()
program = programs.add
cases = programs.cases
N4 = [(r(n, 4),) for n in (3, 1, 5)]
SQUARES = [(r(4, 6),)]


@program(SOME, N3)
def view_contiguous(x: Tensor):
    c = x.contiguous()
    c[0] = 1
    return c, x


@program(SOME, N3)
def view_contiguous_of_transposed(x: Tensor):
    """Of one row it is x itself."""
    c = x.t().contiguous()
    c.add_(1)
    return c, x


@program(SQUARES, "f32:4,6")
def view_contiguous_of_transposed_fixed(x: Tensor):
    c = x.t().contiguous()
    c.add_(1)
    return c, x


@program(SOME, N3)
def view_flat(x: Tensor):
    c, d = x.flatten(), x.reshape(-1)
    c[0] = 1
    d[-1] = 2
    return c, d, x


@program([(r(2, n, 3),) for n in (3, 1, 4)], "f32:2,n,3")
def view_flat_in_part(x: Tensor):
    y = x * 2
    c = y.flatten(1)
    c[0, :2] = 1
    e = torch.atleast_2d(y[0, 0])
    e += 5
    return c, y, e


@program(SQUARES, "f32:4,6")
def view_flat_of_columns(x: Tensor):
    """Of a transposed tensor reshape gives a copy."""
    y = x * 2
    c = y.t().reshape(-1)
    c[0] = 100
    return c, y


@program(SOME, N3)
def view_to_its_dtype(x: Tensor):
    c, d, e, f = x.to(x.dtype), x.float(), x.type_as(x), x.cpu()
    c[0] = 1
    d[:, 1] = 2
    e.add_(1)
    f.mul_(2)
    return c, d, e, f, x


@program(SOME, N3)
def view_to_another_dtype(x: Tensor):
    c, d = x.double(), x.to(torch.int32)
    c[0] = 1
    d.add_(1)
    return c, d, x


@program(SOME, N3)
def view_expanded_as_itself(x: Tensor):
    y = x * 2
    y.expand_as(x).copy_(x + 1)
    z = x + 3
    z.expand(1, x.size(0), 3).mul_(2)
    return y, z


@program(SOME, N3, needs="an expanded view, whose elements share memory")
def view_expanded(x: Tensor):
    y = x[:1] * 2
    y.expand(2, 3)[0, 0] = 1
    return y


@program([(r(n, 7),) for n in (3, 1, 5)], "f32:n,7")
def view_windows_apart(x: Tensor):
    y, z, w = x * 1, x * 2, x * 3
    y.unfold(1, 2, 2).mul_(2)
    z.unfold(-1, 1, 3).zero_()
    w.unfold(0, 1, 2).add_(w.unfold(0, 1, 2))
    return y, z, w


@program([(r(2, 7, 3),)], "f32:2,7,3")
def view_windows_in_the_middle(x: Tensor):
    y, z = x * 1, x * 1
    y.unfold(1, 2, 3)[:, -1].mul_(2)
    z.unfold(-2, 3, 3)[0] += 1
    return y, z


@program(SOME, N3, needs="windows that may overlap")
def view_windows_over_each_other(x: Tensor):
    y = x * 1
    y.unfold(1, 2, 1).mul_(2)
    return y


@program(SQUARES, "f32:4,6")
def view_parts(x: Tensor):
    v, w, u = x + 1, x + 2, x + 3
    v.chunk(2, 0)[-1].copy_(v[0:2].clone())
    w.split(4, 1)[-1].mul_(2)
    u.tensor_split(4, 1)[-2].add_(5)
    u.split([1, 3, 2], 1)[1].neg_()
    return v, w, u


@program(N4, "f32:n,4")
def view_parts_of_named_sizes(x: Tensor):
    v, w, u, t = x + 1, x + 2, x + 3, x + 4
    v.chunk(2, 0)[-1].mul_(2)
    w.split(2, 0)[-1].mul_(2)
    u.tensor_split(2, 0)[-1].add_(5)
    for i in range(len(t.split(2, 0))):
        t.split(2, 0)[i].add_(i)
    return v, w, u, t


@program([(r(4, 4, 4),)], "f32:4,4,4")
def view_parts_without_the_first(x: Tensor):
    parts = x.split(1, 2)
    return torch.cat(parts[1:], 2), torch.stack(parts[::2])


@program(SQUARES, "f32:4,6")
def view_parts_in_a_list(x: Tensor):
    y = x * 1
    parts = y.chunk(3, 1)
    parts.append(x)
    parts[1].zero_()
    return y, torch.cat(parts, 1)


@program(SOME, N3)
def rebound_view(x: Tensor):
    y = x * 2
    v, w = y[:, 1:], y[:, :2]
    v.t_()
    v[0] = 7
    w.unsqueeze_(0)
    w.transpose_(0, 2)
    return y, v, w


@program(SOME, N3)
def rebound_under_a_view(x: Tensor):
    y = x * 2
    v = y[0]
    y.t_()
    y[1] = 5
    y.unsqueeze_(0)
    return y, v


@program(FLAGS, N3, FLAG)
def rebound_in_a_branch(x: Tensor, f: Tensor):
    y = x * 2
    z = y + 1
    if bool(f > 0):
        y.unsqueeze_(0)
        z = z + y.sum()
        y.squeeze_(0)
    return y, z


@program(SOME, N3)
def rebound_beside_other_names(x: Tensor):
    y = x * 2
    v = y.view(-1)
    w = y.flatten()
    z = v[:].contiguous()
    v.unsqueeze_(0)
    v += 1
    return y, v, w, z


@program(SOME, N3, needs="may or may not share memory")
def rebound_under_two_names(x: Tensor):
    y = x * 2
    z = y.contiguous()
    z.t_()
    return y, z


@program(FLAGS, N3, FLAG)
def view_flat_of_what_a_branch_and_a_loop_give(x: Tensor, f: Tensor):
    y = x * 2
    if bool(f > 0):
        y = y + y.sum()
    y.flatten()[-1] = 4
    for i in range(x.size(0)):
        y.flatten().add_(1)
        y = torch.relu(y)
    return x, y


@program([(torch.tensor(3.0), torch.tensor([1.0])), (torch.tensor(0.0), torch.tensor([2.0]))], "f32:scalar", "f32:1")
def view_of_one_element(x: Tensor, y: Tensor):
    z = x @ x if x.dim() else x * 2
    z.flatten().add_(1)
    w = torch.positive(y)
    w.contiguous().mul_(3)
    return z, w, y


@program(SOME, N3)
def view_broadcast_to_itself(x: Tensor):
    y = x * 2
    torch.broadcast_tensors(y, x)[0].mul_(3)
    z = torch.where(x > 0)[0]
    z.expand_as(z).add_(1)
    return y, z, x


@program([(r(4), r(n, 4)) for n in (3, 1, 2)], "f32:4", "f32:n,4")
def rebound_to_other_memory(x: Tensor, y: Tensor):
    z = x + 1
    v = z[1:]
    w = y * 1
    z.set_(w)
    z.add_(1)
    v.add_(10)
    return z * 2, v, w


@program(SOME, N3)
def view_data(x: Tensor):
    y = x * 2
    y.data.add_(1)
    y.detach().mul_(2)
    return y, x.data * 2


@program(SOME, N3)
def view_out(x: Tensor):
    c = torch.zeros(4)
    torch.arange(4, out=c)
    d = torch.zeros(1)
    torch.add(x, 1, out=d)
    e = torch.zeros([0])
    torch.mul(x, 2, out=e)
    return x.sum() + c, d, e


@program(SOME, N3, needs="may change the sizes of")
def view_out_below_a_view(x: Tensor):
    c = torch.zeros(4)
    v = c[1:]
    torch.add(x, 1, out=c)
    return c, v


@program([(r(5),)], "f32:5", needs="may or may not share memory")
def view_parts_that_overlap(x: Tensor):
    y = x * 1
    a, b, c = y.tensor_split([3, 1])
    a.add_(1)
    return y, c


@program([(r(n, 7),) for n in (3, 1, 5)], "f32:n,7")
def write_steps(x: Tensor):
    y = x * 1
    y[:, ::2] = 1
    y[:, 1:6:3].add_(x[:, :2])
    return y


@program([(r(n, 4),) for n in (3, 1, 5)], "f32:n,4")
def write_steps_of_rows(x: Tensor):
    y = x * 1
    y[::2].mul_(2)
    y[-3::2] = 1
    return y
