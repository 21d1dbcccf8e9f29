"""Heads that compute with covariances: Gaussian processes, Kalman filters, densities."""
import math
from typing import Tuple

import torch
from torch import Tensor, nn

from registry import Example


def rbf(a: Tensor, b: Tensor, lengthscale: Tensor, variance: Tensor) -> Tensor:
    squares = (a / lengthscale).pow(2).sum(-1, keepdim=True) + (b / lengthscale).pow(2).sum(-1).unsqueeze(-2)
    squares = squares - 2 * (a / lengthscale) @ (b / lengthscale).transpose(-1, -2)
    return variance * torch.exp(-0.5 * squares.clamp_min(0))


class Exact(nn.Module):
    """Rasmussen and Williams' algorithm 2.1: mean, variance and evidence, with the training points in the model."""

    def __init__(self, points: int = 8, features: int = 2):
        super().__init__()
        self.register_buffer("x", torch.randn(points, features))
        self.register_buffer("y", torch.randn(points))
        self.log_lengthscale, self.log_variance = nn.Parameter(torch.zeros(features)), nn.Parameter(torch.tensor(0.3))
        self.log_noise = nn.Parameter(torch.tensor(-1.5))

    def forward(self, test: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        lengthscale, variance = self.log_lengthscale.exp(), self.log_variance.exp()
        k = rbf(self.x, self.x, lengthscale, variance) + self.log_noise.exp() * torch.eye(self.x.size(0), device=test.device)
        chol = torch.linalg.cholesky(k)
        alpha = torch.cholesky_solve(self.y.unsqueeze(-1), chol)
        k_star = rbf(self.x, test, lengthscale, variance)
        mean = (k_star.t() @ alpha).squeeze(-1)
        v = torch.linalg.solve_triangular(chol, k_star, upper=False)
        var = variance - v.pow(2).sum(0)
        evidence = -0.5 * self.y @ alpha.squeeze(-1) - chol.diagonal().log().sum() - 0.5 * self.x.size(0) * math.log(2 * math.pi)
        return mean, var, evidence


class Conditioned(nn.Module):
    """Neural processes and few-shot regression: the context is an input, so the matrix is computed at run time."""

    def __init__(self, features: int = 3):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(features, 8), nn.Tanh(), nn.Linear(8, 4))
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def forward(self, context_x: Tensor, context_y: Tensor, target_x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        a, b = self.embed(context_x), self.embed(target_x)
        one = torch.ones(1, device=a.device)
        k = rbf(a, a, one, one) + self.log_noise.exp() * torch.eye(a.size(1), dtype=a.dtype, device=a.device)
        chol = torch.linalg.cholesky(k)                                        #: aten::linalg_cholesky
        cross = rbf(b, a, one, one)
        mean = cross @ torch.cholesky_solve(context_y, chol)
        half = torch.linalg.solve_triangular(chol, cross.transpose(-1, -2), upper=False)
        covariance = rbf(b, b, one, one) - half.transpose(-1, -2) @ half
        log_det = torch.logdet(k)
        return mean, covariance, log_det


class Kalman(nn.Module):
    """Predict and update, with the gain by solving; the filter runs over a sequence."""

    def __init__(self, state: int = 4, seen: int = 2):
        super().__init__()
        self.f = nn.Parameter(torch.eye(state) + 0.05 * torch.randn(state, state))
        self.h = nn.Parameter(torch.randn(seen, state))
        self.register_buffer("q", 0.1 * torch.eye(state))
        self.register_buffer("r", 0.2 * torch.eye(seen))

    def forward(self, x: Tensor, p: Tensor, z: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        likelihood = torch.zeros(x.size(0), device=x.device)
        for t in range(z.size(1)):
            x = x @ self.f.t()
            p = self.f @ p @ self.f.t() + self.q
            innovation = z[:, t] - x @ self.h.t()
            s = self.h @ p @ self.h.t() + self.r
            gain = torch.linalg.solve(s, self.h @ p).transpose(-1, -2)
            x = x + (gain @ innovation.unsqueeze(-1)).squeeze(-1)
            p = (torch.eye(p.size(-1), device=x.device) - gain @ self.h) @ p
            p = 0.5 * (p + p.transpose(-1, -2))
            likelihood = likelihood - 0.5 * (innovation.unsqueeze(1) @ torch.linalg.inv(s) @ innovation.unsqueeze(-1)).flatten() - 0.5 * torch.logdet(s)
        return x, p, likelihood


class Mixture(nn.Module):
    """Densities of Gaussians whose Cholesky factors a network gives, as torch.distributions computes them."""

    def __init__(self, parts: int = 3, size: int = 3):
        super().__init__()
        self.parts, self.size = parts, size
        self.net = nn.Linear(5, parts * (1 + size + size * size))

    def forward(self, condition: Tensor, x: Tensor) -> Tuple[Tensor, Tensor]:
        made = self.net(condition).view(-1, self.parts, 1 + self.size + self.size * self.size)
        logits, loc = made[..., 0], made[..., 1:1 + self.size]
        raw = made[..., 1 + self.size:].reshape(-1, self.parts, self.size, self.size)
        scale_tril = raw.tril(-1) + torch.diag_embed(torch.nn.functional.softplus(raw.diagonal(dim1=-2, dim2=-1)))
        diff = (x.unsqueeze(1) - loc).unsqueeze(-1)
        m = torch.linalg.solve_triangular(scale_tril, diff, upper=False).pow(2).sum([-2, -1])
        half_log_det = scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        log_prob = -0.5 * (self.size * math.log(2 * math.pi) + m) - half_log_det
        return torch.logsumexp(torch.log_softmax(logits, -1) + log_prob, -1), torch.cholesky_inverse(scale_tril)


class Whitening(nn.Module):
    """Iterative layers with a decomposition: shrunk covariance, whitened features, distances of Mahalanobis, slogdet."""

    def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        mean = x.mean(0, keepdim=True)
        centred = x - mean
        cov = centred.t() @ centred / (x.size(0) - 1) + 1e-1 * torch.eye(x.size(1), device=x.device)
        upper = torch.linalg.cholesky(cov, upper=True)
        white = torch.linalg.solve_triangular(upper, centred, upper=True, left=False)
        delta = y - mean
        distance = (delta * torch.linalg.solve(cov, delta.t()).t()).sum(-1).sqrt()
        sign, logabs = torch.linalg.slogdet(cov)
        return white, distance, sign * logabs


class Inducing(nn.Module):
    """A sparse variational head: inducing points and a Cholesky factor that are weights, the older names of the operators."""

    def __init__(self, points: int = 6, features: int = 3):
        super().__init__()
        self.z = nn.Parameter(torch.randn(points, features))
        self.m = nn.Parameter(torch.randn(points, 1))
        self.l = nn.Parameter(torch.eye(points) + 0.1 * torch.randn(points, points).tril())
        self.body = nn.Linear(5, features)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        x = torch.relu(self.body(x))
        one = torch.ones(1, device=x.device)
        kzz = rbf(self.z, self.z, one, one) + 1e-2 * torch.eye(self.z.size(0), device=x.device)
        kzx = rbf(self.z, x, one, one)
        lz = torch.linalg.cholesky(kzz)
        a = torch.triangular_solve(kzx, lz, upper=False)[0]
        mean = a.t() @ self.m
        b = self.l.tril().t() @ a
        return mean, 1.0 - (a * a).sum(0) + (b * b).sum(0)


def covariance(batch: int, size: int) -> Tensor:
    a = torch.randn(batch, size, size)
    return a @ a.transpose(-1, -2) + 0.5 * torch.eye(size)


def gp_exact() -> Example:
    return Example(Exact(), (torch.randn(5, 2),))


def gp_conditioned() -> Example:
    return Example(Conditioned(), (torch.randn(2, 5, 3), torch.randn(2, 5, 1), torch.randn(2, 4, 3)))


def gp_inducing() -> Example:
    return Example(Inducing(), (torch.randn(7, 5),))


def kalman() -> Example:
    return Example(Kalman(), (torch.randn(2, 4), torch.eye(4).repeat(2, 1, 1) * 2, torch.randn(2, 3, 2)))


def gaussian_mixture() -> Example:
    return Example(Mixture(), (torch.randn(4, 5), torch.randn(4, 3)))


def whitening() -> Example:
    return Example(Whitening(), (torch.randn(9, 4), torch.randn(3, 4)))
