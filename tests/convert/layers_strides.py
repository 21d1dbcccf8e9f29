"""Strides and views by them whose numbers only the running model knows."""
import torch
from torch import nn

from layer_cases import Case


def framed(waveform: torch.Tensor, window: int, shift: int) -> torch.Tensor:
    """kaldi's framing of a waveform."""
    frames = 0 if waveform.size(0) < window else 1 + (waveform.size(0) - window) // shift
    return waveform.as_strided((frames, window), (shift * waveform.stride(0), waveform.stride(0)))


class RelativeShift(nn.Module):
    """k2's Zipformer: the scores of relative positions become those of positions."""

    def forward(self, p, pos):
        time = p.size(2)
        x = torch.matmul(p.permute(1, 0, 2, 3), pos.permute(1, 0, 3, 2))
        return x.as_strided((x.size(0), x.size(1), time, time), (x.stride(0), x.stride(1), x.stride(2) - x.stride(3), x.stride(3)), storage_offset=x.stride(3) * (time - 1))


def shift_inputs(*sizes):
    return [(torch.randn(batch, 4, time, 3), torch.randn(1, 4, 2 * time - 1, 3)) for batch, time in sizes]


def steps_of(x):
    """Of a tensor, and of views of it."""
    return x.stride(), x.transpose(0, 2).stride(), x[:, 1:].stride(), x[:, ::2, 1].stride(), x.unsqueeze(1).stride(), x[1:].storage_offset(), x[:, 2:].stride(-3)


def steps_of_nothing(x):
    return x.stride(), x.transpose(0, 2).stride(), x[:, 2:].stride(-3)


def order_of(x):
    y = x.transpose(0, 1)
    return y.is_contiguous(), x.is_contiguous(), (x + 1).t().is_contiguous(), x[:, :1].is_contiguous()


def order_of_image(x):
    last = torch.channels_last
    return x.is_contiguous(memory_format=last), x.permute(0, 3, 1, 2).is_contiguous(memory_format=last), x.permute(0, 3, 1, 2).is_contiguous(), \
        x[0].is_contiguous(memory_format=last)


def of_positive(x):
    y = x[x > 0]
    return y.as_strided((y.size(0) // 2, 2), (2, y.stride(0)))


def read_after_write(x):
    y = x + 1
    y.mul_(2)
    return y.as_strided((y.size(0), 2), (y.stride(0), y.stride(1)), y.storage_offset() + 1)


def written_behind(x):
    y = x + 1
    part = y.as_strided((y.size(0), 2), (y.stride(0), y.stride(1)))
    y.mul_(2)
    return part


def overlapping(x):
    return x[1:].as_strided((x.size(0) - 1, 4), (x.stride(0), 1))


def scattered(x, y):
    return torch.as_strided_scatter(x, y, (x.size(0), 2), (x.stride(0), 2 * x.stride(1)), 1)


def every_step(x, z: int):
    y = x.clone()
    y[0::z] = 1.0
    y[:, 1::z] += 2.0
    y[::z, 1:] = y[::z, :-1] * 2
    return y


def triangle_step(x):
    return x.t().triu().stride(0)


def step_of_one(x):
    return (x.t() + 1).stride(0)


def cases():
    made = {}
    waves = [(torch.randn(n), window, shift) for n, window, shift in ((20, 5, 2), (7, 7, 3), (4, 5, 1), (31, 1, 4))]
    made["strides_framed"] = Case(framed, waves, ("f32:n", "i64", "i64"), script=True, opsets=range(9, 27))
    made["strides_relative_shift"] = Case(RelativeShift(), shift_inputs((2, 5), (1, 5), (3, 1), (1, 8)), ("f32:batch,4,time,3", "f32:1,4,m,3"), script=True, opsets=range(9, 27))
    made["strides_of_views"] = Case(steps_of, [(torch.randn(*sizes),) for sizes in ((4, 3, 5), (1, 3, 2), (2, 7, 3), (1, 1, 2))], ("f32:n,m,k",), script=True, opsets=range(10, 27))
    made["strides_of_nothing"] = Case(steps_of_nothing, [(torch.randn(*sizes),) for sizes in ((3, 0, 2), (4, 3, 5))], ("f32:n,m,k",), script=True)
    rows = [(torch.randn(*sizes),) for sizes in ((4, 3), (1, 3), (5, 1), (0, 3), (1, 1))]
    made["strides_order"] = Case(order_of, rows, ("f32:n,m",), script=True)
    made["strides_order_of_images"] = Case(order_of_image, [(torch.randn(*sizes),) for sizes in ((2, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 1), (2, 3, 4, 1))],
                                           ("f32:n,c,h,w",), script=True)
    made["strides_of_positive"] = Case(of_positive, [(torch.randn(7),), (torch.randn(12),), (-torch.ones(3),)], ("f32:n",), script=True, opsets=range(9, 27))
    wide = [(torch.randn(*sizes),) for sizes in ((4, 3), (1, 5), (6, 4))]
    made["strides_read_after_write"] = Case(read_after_write, wide, ("f32:n,m",), script=True, opsets=range(9, 27))
    made["strides_written_behind"] = Case(written_behind, wide, ("f32:n,m",), script=True, opsets=(), untried=range(7, 9), needs="which is also read as `part`")
    made["strides_overlapping"] = Case(overlapping, [(torch.randn(*sizes),) for sizes in ((4, 4), (2, 7))], ("f32:n,m",), script=True, opsets=range(9, 27))
    made["strides_scattered"] = Case(scattered, [(torch.randn(n, m), torch.randn(n, 2)) for n, m in ((4, 4), (2, 7))], ("f32:n,m", "f32:n,2"), script=True, opsets=range(9, 27))
    made["strides_of_triangle"] = Case(triangle_step, rows[:1], ("f32:n,m",), script=True, refused="it isn't known how what aten::triu gives lies")
    made["strides_of_one"] = Case(step_of_one, rows[:2], ("f32:n,m",), script=True, opsets=(), needs="the stride of a dimension whose size may be 1 isn't known")
    made["strides_every_step"] = Case(every_step, [(torch.randn(*sizes), step) for sizes, step in (((6, 5), 2), ((5, 4), 3), ((4, 7), 1), ((3, 2), 9))],
                                      ("f32:n,m", "i64"), script=True, opsets=range(10, 27))
    return made
