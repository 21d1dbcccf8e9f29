"""Front ends of speech models: spectrograms, mel filters, cepstra, and vocoders that go back."""
import math
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example

RATE, POINTS, HOP, MELS = 16000, 64, 16, 12


def melscale_fbanks(n_freqs: int, n_mels: int, rate: int) -> Tensor:
    """As torchaudio.functional.melscale_fbanks: HTK's scale, no norm."""
    all_freqs = torch.linspace(0, rate // 2, n_freqs)
    m_pts = torch.linspace(0.0, 2595.0 * math.log10(1.0 + (rate / 2) / 700.0), n_mels + 2)
    f_pts = 700.0 * (10.0 ** (m_pts / 2595.0) - 1.0)
    f_diff = f_pts[1:] - f_pts[:-1]
    slopes = f_pts.unsqueeze(0) - all_freqs.unsqueeze(1)
    down_slopes = (-1.0 * slopes[:, :-2]) / f_diff[:-1]
    up_slopes = slopes[:, 2:] / f_diff[1:]
    return torch.max(torch.zeros(1), torch.min(down_slopes, up_slopes))


def create_dct(n_mfcc: int, n_mels: int) -> Tensor:
    n = torch.arange(float(n_mels))
    k = torch.arange(float(n_mfcc)).unsqueeze(1)
    dct = torch.cos(math.pi / float(n_mels) * (n + 0.5) * k)
    dct[0] *= 1.0 / math.sqrt(2.0)
    dct *= math.sqrt(2.0 / float(n_mels))
    return dct.t()


def spectrogram(waveform: Tensor, pad: int, window: Tensor, n_fft: int, hop_length: int, win_length: int, power: Optional[float],
                normalized: bool, center: bool, pad_mode: str, onesided: bool) -> Tensor:
    """As torchaudio.functional.spectrogram."""
    if pad > 0:
        waveform = F.pad(waveform, (pad, pad), "constant")
    shape = waveform.size()
    waveform = waveform.reshape(-1, shape[-1])
    spec_f = torch.stft(input=waveform, n_fft=n_fft, hop_length=hop_length, win_length=win_length, window=window, center=center,
                        pad_mode=pad_mode, normalized=False, onesided=onesided, return_complex=True)
    spec_f = spec_f.reshape(shape[:-1] + spec_f.shape[-2:])
    if normalized:
        spec_f /= window.pow(2.0).sum().sqrt()
    if power is not None:
        if power == 1.0:
            return spec_f.abs()
        return spec_f.abs().pow(power)
    return spec_f


def amplitude_to_DB(x: Tensor, multiplier: float, amin: float, db_multiplier: float, top_db: Optional[float] = None) -> Tensor:
    x_db = multiplier * torch.log10(torch.clamp(x, min=amin))
    x_db -= multiplier * db_multiplier
    if top_db is not None:
        shape = x_db.size()
        packed_channels = shape[-3] if x_db.dim() > 2 else 1
        x_db = x_db.reshape(-1, packed_channels, shape[-2], shape[-1])
        x_db = torch.max(x_db, (x_db.amax(dim=(-3, -2, -1)) - top_db).view(-1, 1, 1, 1))
        x_db = x_db.reshape(shape)
    return x_db


class Spectrogram(nn.Module):
    __constants__ = ["n_fft", "win_length", "hop_length", "pad", "power", "normalized", "center", "pad_mode", "onesided"]

    def __init__(self, n_fft: int = POINTS, win_length: Optional[int] = None, hop_length: Optional[int] = None, pad: int = 0,
                 window_fn=torch.hann_window, power: Optional[float] = 2.0, normalized: bool = False, center: bool = True,
                 pad_mode: str = "reflect", onesided: bool = True):
        super().__init__()
        self.n_fft = n_fft
        self.win_length = win_length if win_length is not None else n_fft
        self.hop_length = hop_length if hop_length is not None else self.win_length // 2
        self.register_buffer("window", window_fn(self.win_length))
        self.pad, self.power, self.normalized = pad, power, normalized
        self.center, self.pad_mode, self.onesided = center, pad_mode, onesided

    def forward(self, waveform: Tensor) -> Tensor:
        return spectrogram(waveform, self.pad, self.window, self.n_fft, self.hop_length, self.win_length, self.power,
                           self.normalized, self.center, self.pad_mode, self.onesided)


class MFCC(nn.Module):
    def __init__(self, log_mels: bool = False):
        super().__init__()
        self.spectrogram = Spectrogram(POINTS, None, HOP)
        self.register_buffer("fb", melscale_fbanks(POINTS // 2 + 1, MELS, RATE))
        self.register_buffer("dct_mat", create_dct(8, MELS))
        self.log_mels = log_mels

    def forward(self, waveform: Tensor) -> Tensor:
        specgram = self.spectrogram(waveform)
        mel = torch.matmul(specgram.transpose(-1, -2), self.fb).transpose(-1, -2)
        if self.log_mels:
            mel = torch.log(mel + 1e-6)
        else:
            mel = amplitude_to_DB(mel, 10.0, 1e-10, 0.0, 80.0)
        return torch.matmul(mel.transpose(-1, -2), self.dct_mat).transpose(-1, -2)


class Spectrograms(nn.Module):
    """One waveform in the forms that Spectrogram's options give."""

    def __init__(self):
        super().__init__()
        self.plain = Spectrogram(32, hop_length=8, power=1.0)
        self.normalized = Spectrogram(32, 24, 8, window_fn=torch.hamming_window, normalized=True, pad_mode="constant")
        self.uncentred = Spectrogram(32, hop_length=8, center=False, pad=3)
        self.replicated = Spectrogram(32, hop_length=8, pad_mode="replicate", onesided=False)
        self.complex = Spectrogram(32, hop_length=8, power=None)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return self.plain(x), self.normalized(x), self.uncentred(x), self.replicated(x), torch.view_as_real(self.complex(x))


class WhisperFeatures(nn.Module):
    """As openai/whisper writes it in audio.py, before its encoder's convolutions."""

    def __init__(self):
        super().__init__()
        self.points, self.hop = POINTS, HOP
        self.register_buffer("filters", melscale_fbanks(POINTS // 2 + 1, MELS, RATE).t().contiguous())
        self.conv1 = nn.Conv1d(MELS, 16, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(16, 16, kernel_size=3, stride=2, padding=1)

    def forward(self, audio: Tensor) -> Tensor:
        window = torch.hann_window(self.points).to(audio.device)
        stft = torch.stft(audio, self.points, self.hop, window=window, return_complex=True)
        magnitudes = stft[..., :-1].abs() ** 2
        mel_spec = self.filters @ magnitudes
        log_spec = torch.clamp(mel_spec, min=1e-10).log10()
        log_spec = torch.maximum(log_spec, log_spec.max() - 8.0)
        log_spec = (log_spec + 4.0) / 4.0
        x = F.gelu(self.conv1(log_spec))
        return F.gelu(self.conv2(x)).permute(0, 2, 1)


class NemoFeatures(nn.Module):
    """NeMo's front end: preemphasis, pairs of reals, and each sequence normalized over its own length."""

    def __init__(self):
        super().__init__()
        self.points, self.hop = POINTS, HOP
        self.register_buffer("window", torch.hann_window(48, periodic=False))
        self.register_buffer("fb", melscale_fbanks(POINTS // 2 + 1, MELS, RATE).t().unsqueeze(0).contiguous())

    def forward(self, x: Tensor, seq_len: Tensor) -> Tuple[Tensor, Tensor]:
        seq_len = torch.floor_divide(seq_len, self.hop) + 1
        x = torch.cat((x[:, 0].unsqueeze(1), x[:, 1:] - 0.97 * x[:, :-1]), dim=1)
        x = torch.view_as_real(torch.stft(x, n_fft=self.points, hop_length=self.hop, win_length=48, center=True, window=self.window.to(dtype=torch.float),
                                          return_complex=True, pad_mode="constant"))
        x = torch.sqrt(x.pow(2).sum(-1) + 1e-9)
        x = torch.matmul(self.fb, x.pow(2.0))
        x = torch.log(x + 2 ** -24)
        frames = torch.arange(x.size(-1), device=x.device).unsqueeze(0).expand(x.size(0), x.size(-1)) < seq_len.unsqueeze(1)
        valid = frames.unsqueeze(1)
        count = valid.sum(dim=2).to(x.dtype)
        mean = torch.where(valid, x, 0.0).sum(dim=2) / count
        std = torch.sqrt(torch.where(valid, x - mean.unsqueeze(2), 0.0).pow(2).sum(dim=2) / (count - 1.0)) + 1e-5
        x = (x - mean.unsqueeze(2)) / std.unsqueeze(2)
        return x.masked_fill(~valid, 0.0), seq_len


class Denoiser(nn.Module):
    """A mask on the spectrum, and back: the shape that enhancement models have."""

    def __init__(self):
        super().__init__()
        self.points, self.hop = POINTS, HOP
        self.register_buffer("window", torch.hann_window(POINTS))
        self.gru = nn.GRU(POINTS // 2 + 1, 20, batch_first=True)
        self.mask = nn.Linear(20, POINTS // 2 + 1)

    def forward(self, wav: Tensor) -> Tensor:
        spec = torch.stft(wav, self.points, self.hop, self.points, self.window, center=True, normalized=True, return_complex=True)
        features = torch.log1p(spec.abs()).transpose(1, 2)
        hidden, _ = self.gru(features)
        gain = torch.sigmoid(self.mask(hidden)).transpose(1, 2)
        return torch.istft(spec * gain, self.points, self.hop, self.points, self.window, center=True, normalized=True, length=wav.size(-1))


class ISTFTHead(nn.Module):
    """Vocos: magnitude and phase from a linear layer, then an inverse transform."""

    def __init__(self):
        super().__init__()
        self.points, self.hop = POINTS, HOP
        self.out = nn.Linear(20, POINTS + 2)
        self.register_buffer("window", torch.hann_window(POINTS))

    def forward(self, x: Tensor) -> Tensor:
        x = self.out(x).transpose(1, 2)
        mag, p = x.chunk(2, dim=1)
        mag = torch.clip(torch.exp(mag), max=1e2)
        s = mag * (torch.cos(p) + 1j * torch.sin(p))
        return torch.istft(s, self.points, self.hop, self.points, self.window, center=True)


class OverlapAdd(nn.Module):
    """Vocos' "same" padding: irfft of each frame, frames folded together and divided by the window's envelope."""

    def __init__(self):
        super().__init__()
        self.points, self.hop = POINTS, HOP
        self.register_buffer("window", torch.hann_window(POINTS))

    def forward(self, mag: Tensor, phase: Tensor) -> Tensor:
        spec = torch.polar(mag, phase)
        pad = (self.points - self.hop) // 2
        ifft = torch.fft.irfft(spec, self.points, dim=1, norm="backward") * self.window[None, :, None]
        size = (spec.size(2) - 1) * self.hop + self.points
        y = F.fold(ifft, [1, size], [1, self.points], stride=[1, self.hop])[:, 0, 0, pad:-pad]
        squared = self.window.square().expand(1, spec.size(2), -1).transpose(1, 2)
        envelope = F.fold(squared, [1, size], [1, self.points], stride=[1, self.hop]).squeeze()[pad:-pad]
        return y / envelope


class GriffinLim(nn.Module):
    """Two rounds of finding the phase that a magnitude lacks."""

    def __init__(self):
        super().__init__()
        self.points, self.hop = POINTS, HOP
        self.register_buffer("window", torch.hann_window(POINTS))

    def forward(self, specgram: Tensor) -> Tensor:
        angles = torch.ones_like(specgram) + 0j
        previous = torch.zeros_like(angles)
        for _ in range(2):
            inverse = torch.istft(specgram * angles, self.points, self.hop, self.points, self.window)
            rebuilt = torch.stft(inverse, self.points, self.hop, self.points, self.window, return_complex=True)
            angles = rebuilt - previous * 0.4975
            angles = angles.div(angles.abs().add(1e-16))
            previous = rebuilt
        return torch.istft(specgram * angles, self.points, self.hop, self.points, self.window)


def noise(*shape: int) -> Tensor:
    return torch.randn(shape) * 0.3


def mfcc() -> Example:
    return Example(MFCC(), (noise(2, 480),))


def mfcc_log() -> Example:
    return Example(MFCC(log_mels=True), (noise(2, 1, 480),))


def spectrograms() -> Example:
    return Example(Spectrograms(), (noise(2, 200),))


def whisper_features() -> Example:
    return Example(WhisperFeatures(), (noise(2, 640),))


def nemo_features() -> Example:
    return Example(NemoFeatures(), (noise(2, 480), torch.tensor([480, 300])))


def denoiser() -> Example:
    return Example(Denoiser(), (noise(2, 400),))


def istft_vocoder() -> Example:
    return Example(ISTFTHead(), (torch.randn(2, 15, 20),))


def overlap_add() -> Example:
    return Example(OverlapAdd(), (torch.rand(2, POINTS // 2 + 1, 9), torch.randn(2, POINTS // 2 + 1, 9)))


def griffin_lim() -> Example:
    return Example(GriffinLim(), (torch.rand(2, POINTS // 2 + 1, 12) + 0.1,))
