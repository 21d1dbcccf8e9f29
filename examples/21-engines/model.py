"""Writes model.pt: a spatial transformer with a determinant and bits of integers, which not every engine takes."""
import pathlib, sys

import torch


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.features = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.register_buffer("theta", torch.tensor([[[1.0, 0.1, 0.0], [-0.1, 1.0, 0.0]]]))

    def forward(self, x):
        grid = torch.nn.functional.affine_grid(self.theta.expand(x.shape[0], 2, 3), x.shape, align_corners=False)
        warped = torch.nn.functional.grid_sample(torch.relu(self.features(x)), grid, align_corners=False)
        area = torch.linalg.det(self.theta[:, :, :2])
        codes = (warped.mean((2, 3)) * 100).to(torch.int64)
        return warped * area, torch.bitwise_and(codes, 15)


torch.jit.trace(Transformer().eval(), torch.rand(1, 3, 8, 8)).save(str(pathlib.Path(sys.argv[1]) / "model.pt"))
