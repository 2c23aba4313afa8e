"""The modules that record.py records: of each family of operations a few, each with several types."""
import torch
import torch.nn.functional as F
from torch import nn

aten = torch.ops.aten
ALL = {}


def fixture(make):
    """A function that returns a module and its arguments."""
    ALL[make.__name__] = make
    return make


class Calls(nn.Module):
    """Several functions of the same arguments: a result of each."""

    def __init__(self, *functions):
        super().__init__()
        self.functions = functions

    def forward(self, *args):
        results = []
        for function in self.functions:
            result = function(*args)
            results += result if isinstance(result, (tuple, list)) else [result]
        return tuple(results)


def rand(*shape, dtype=torch.float32, low=-2.0, high=2.0):
    return (torch.rand(shape) * (high - low) + low).to(dtype)


def ints(*shape, low=0, high=5, dtype=torch.int64):
    return torch.randint(low, high, shape, dtype=dtype)


def of(functions, *args):
    return Calls(*functions), args


UNARY = """relu relu6 sigmoid silu log_sigmoid mish softplus elu celu selu leaky_relu hardtanh
hardsigmoid hardswish tanh exp exp2 expm1 sin cos tan atan sinh cosh erf floor ceil round trunc neg
square sign gelu abs softsign negative reciprocal isnan isinf isfinite logical_not clone""".split()
POSITIVE = "log log2 log10 log1p sqrt rsqrt".split()


def default(name):
    return getattr(getattr(aten, name), "default")


def unary(dtype, every=1):
    x = rand(3, 7, dtype=dtype)
    names = [n for n in UNARY if hasattr(aten, n)]
    more = [lambda x, f=default(n): f(x.abs() + 0.5) for n in POSITIVE]
    more += [lambda x: torch.asin(x * 0.5), lambda x: torch.acos(x * 0.5),
             lambda x: aten.threshold(x, 0.5, -3.0), lambda x: F.gelu(x, approximate="tanh"),
             lambda x: F.softplus(x, beta=2.0, threshold=1.5), lambda x: F.elu(x, 0.7),
             lambda x: torch.clamp(x, -0.5, 0.7), lambda x: torch.clamp(x, min=0.1),
             lambda x: torch.clamp(x, max=0.1), lambda x: aten.clip(x, -0.3, 0.2),
             lambda x: aten.clamp_min(x, 0.2), lambda x: aten.clamp_max(x, 0.2),
             lambda x: x ** 2, lambda x: x ** 3, lambda x: x.abs() ** 0.5, lambda x: x.abs() ** 1.7,
             lambda x: torch.pow(2.0, x), lambda x: x ** 1.0]
    calls = [(lambda x, f=default(n): f(x)) for n in names] + more
    return of(calls[::every], x)


@fixture
def pointwise_f32():
    return unary(torch.float32)


@fixture
def pointwise_f64():
    return unary(torch.float64)


@fixture
def pointwise_f16():
    return unary(torch.float16, 2)


@fixture
def pointwise_bf16():
    return unary(torch.bfloat16, 5)


COMPARE = "eq ne lt le gt ge".split()


@fixture
def pointwise_two():
    a, b = rand(2, 3, 5), rand(3, 1)
    calls = [lambda a, b: a + b, lambda a, b: torch.add(a, b, alpha=2), lambda a, b: a - b,
             lambda a, b: torch.sub(a, b, alpha=0.5), lambda a, b: aten.rsub(a, b),
             lambda a, b: aten.rsub(a, 2.0), lambda a, b: a * b, lambda a, b: a / (b.abs() + 1),
             lambda a, b: aten.true_divide(a, b), lambda a, b: a + 1.5, lambda a, b: a - 1.5,
             lambda a, b: aten.add.Scalar(a, 2.5), lambda a, b: aten.sub.Scalar(a, 2.5),
             lambda a, b: aten.mul.Scalar(a, 2.5), lambda a, b: aten.div.Scalar(a, 2.5),
             lambda a, b: a * 3, lambda a, b: a / 3, lambda a, b: torch.maximum(a, b),
             lambda a, b: torch.minimum(a, b), lambda a, b: torch.max(a, b),
             lambda a, b: torch.min(a, b), lambda a, b: torch.fmod(a, 0.7),
             lambda a, b: torch.fmod(a, b), lambda a, b: torch.atan2(a, b),
             lambda a, b: torch.lerp(a, b.expand_as(a), 0.3),
             lambda a, b: torch.lerp(a, b.expand_as(a), a), lambda a, b: torch.addcmul(a, a, b, value=0.5),
             lambda a, b: torch.addcdiv(a, a, b.abs() + 1, value=0.5),
             lambda a, b: torch.where(a > 0, a, b), lambda a, b: torch.where(a > 0, a, 1.5),
             lambda a, b: torch.where(a > 0, 1.5, b), lambda a, b: a.masked_fill(b > 0, 9.0),
             lambda a, b: a.masked_fill(b > 0, torch.tensor(7.0)),
             lambda a, b: torch.logical_and(a > 0, b > 0), lambda a, b: torch.logical_or(a > 0, b > 0),
             lambda a, b: torch.logical_xor(a > 0, b > 0), lambda a, b: a.abs() ** b,
             lambda a, b: aten.multiply(a, b), lambda a, b: aten.multiply.Scalar(a, 2.0),
             lambda a, b: aten.subtract(a, b), lambda a, b: aten.subtract.Scalar(a, 2.0),
             lambda a, b: aten.divide(a, b), lambda a, b: aten.divide.Scalar(a, 2.0),
             lambda a, b: torch.xlogy(a, b.abs()), lambda a, b: torch.clamp(a, b, b + 1),
             lambda a, b: aten.clamp_min.Tensor(a, b), lambda a, b: aten.clamp_max.Tensor(a, b),
             lambda a, b: torch.floor_divide(a, b), lambda a, b: torch.floor_divide(a, 0.7),
             lambda a, b: torch.div(a, b, rounding_mode="floor"),
             lambda a, b: torch.div(a, b, rounding_mode="trunc"),
             lambda a, b: torch.div(a, 0.7, rounding_mode="floor"),
             lambda a, b: aten.div.Scalar_mode(a, 0.7, rounding_mode="floor"),
             lambda a, b: torch.remainder(a, b), lambda a, b: torch.remainder(a, 0.7)]
    calls += [lambda a, b, f=getattr(aten, n): f.Tensor(a, b) for n in COMPARE]
    calls += [lambda a, b, f=getattr(aten, n): f.Scalar(a, 0.5) for n in COMPARE]
    return of(calls, a, b)


@fixture
def pointwise_whole():
    a, b = ints(4, 6, low=-9, high=9), ints(6, low=1, high=5)
    c = ints(4, 6, low=0, high=2).bool()
    return of([lambda a, b, c: a + b, lambda a, b, c: a * 2, lambda a, b, c: a - b,
               lambda a, b, c: torch.floor_divide(a, b), lambda a, b, c: torch.remainder(a, b),
               lambda a, b, c: torch.remainder(a, -3), lambda a, b, c: a // -3,
               lambda a, b, c: torch.div(a, b, rounding_mode="trunc"), lambda a, b, c: a & b,
               lambda a, b, c: a | b, lambda a, b, c: a & 6, lambda a, b, c: a | 6, lambda a, b, c: a ^ 6,
               lambda a, b, c: aten.bitwise_and.Tensor(a, b), lambda a, b, c: aten.bitwise_or.Tensor(a, b),
               lambda a, b, c: aten.bitwise_xor.Tensor(a, b), lambda a, b, c: aten.bitwise_and.Scalar(a, 5),
               lambda a, b, c: aten.bitwise_or.Scalar(a, 5), lambda a, b, c: aten.bitwise_xor.Scalar(a, 5),
               lambda a, b, c: aten.floor_divide.Scalar(a, 2), lambda a, b, c: a ^ b, lambda a, b, c: ~a, lambda a, b, c: ~c,
               lambda a, b, c: a == b, lambda a, b, c: a < 2, lambda a, b, c: a.abs(),
               lambda a, b, c: torch.maximum(a, b), lambda a, b, c: torch.clamp(a, -2, 3),
               lambda a, b, c: a.masked_fill(c, -1), lambda a, b, c: a.float() / 3,
               lambda a, b, c: a.to(torch.int32) + 1, lambda a, b, c: c.float(), lambda a, b, c: a / b,
               lambda a, b, c: a.sum(), lambda a, b, c: c.sum(1), lambda a, b, c: a.amax(0),
               lambda a, b, c: a.amin(0), lambda a, b, c: torch.prod(b), lambda a, b, c: c.any(),
               lambda a, b, c: c.all(1), lambda a, b, c: torch.sign(a), lambda a, b, c: -a,
               lambda a, b, c: torch.cumsum(c, 0), lambda a, b, c: torch.where(c, a, 0)], a, b, c)


@fixture
def not_finite():
    """NaN goes on where PyTorch lets it go on."""
    x = torch.tensor([[1.0, float("nan"), -2.0, float("inf"), 0.0, -float("inf"), 7.0, 3.0]])
    y = torch.tensor([[float("nan"), 1.0, 3.0, 2.0, float("nan"), 1.0, 0.5, -1.0]])
    return of([lambda x, y: torch.relu(x), lambda x, y: torch.maximum(x, y),
               lambda x, y: torch.minimum(x, y), lambda x, y: torch.clamp(x, -1, 1),
               lambda x, y: torch.clamp(x, min=0), lambda x, y: F.relu6(x), lambda x, y: F.hardtanh(x),
               lambda x, y: F.hardsigmoid(x), lambda x, y: F.leaky_relu(x), lambda x, y: torch.isnan(x),
               lambda x, y: torch.isinf(x), lambda x, y: torch.isfinite(x), lambda x, y: F.softplus(x),
               lambda x, y: F.gelu(y), lambda x, y: torch.sigmoid(x), lambda x, y: torch.sign(y)], x, y)


@fixture
def extremes_with_nan():
    """A row with NaN has it as its largest and its smallest; the others are as always."""
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1.0, nan, 3.0, 2.0], [4.0, 7.0, 5.0, 6.0], [-inf, -inf, -inf, -inf], [nan, 0.0, nan, 1.0],
                      [0.5, inf, -1.0, 2.0], [3.0, 1.0, inf, nan], [2.0, 2.0, -inf, 1.0]])
    return of([lambda x: x.amax(1), lambda x: x.amin(1), lambda x: x.max(1), lambda x: x.min(1), lambda x: x.argmax(1),
               lambda x: x.argmin(1), lambda x: x[:3, :3].max(0)[0], lambda x: x.half().amax(1), lambda x: x.double().amin(1),
               lambda x: F.max_pool1d(x, 2), lambda x: F.max_pool2d(x[None], 2, 1, 1), lambda x: F.max_pool1d(x.double(), 3, 1, 1),
               lambda x: x.logsumexp(1), lambda x: x[1:2].logsumexp(0),
               lambda x: torch.clamp(x[1] + 0 * x[1], x[0], x[4]), lambda x: torch.clamp(x[1], min=x[0]),
               lambda x: torch.clamp(x[1], max=x[0])], x)


@fixture
def promotion():
    """What numbers, tensors without dimensions and short types meet in."""
    h, z, i = torch.tensor([0.1, 0.2, 0.3, 7.0]).half(), torch.tensor(0.1), ints(4, low=-3)
    u, s = torch.tensor([200, 255, 3, 1], dtype=torch.uint8), torch.tensor([-56, -1, 5, 1], dtype=torch.int8)
    big = torch.tensor([2 ** 53 + 1, 2 ** 62, -5, 16777217])
    b = h.bfloat16()
    calls = [lambda h, z, i, u, s, g, b, f=f: (f(h, 0.1), f(h, z), f(b, 0.1), f(b, z), f(z, h), f(h, i), f(h, 1), f(h, b), f(u, s), f(u, -1),
                                            f(s, 255), f(u, i), f(i, 0.5), f(i, h), f(g, 2 ** 53 + 1), f(g, z), f(u > 3, 1), f(u, u > 3))
             for f in (torch.eq, torch.lt, torch.ge)]
    calls += [lambda h, z, i, u, s, g, b: i ** 5, lambda h, z, i, u, s, g, b: i ** 12, lambda h, z, i, u, s, g, b: i ** 0,
              lambda h, z, i, u, s, g, b: torch.pow(i, i.abs()), lambda h, z, i, u, s, g, b: torch.pow(i.abs() - 1, -i),
              lambda h, z, i, u, s, g, b: torch.pow(3, i.abs() * 11), lambda h, z, i, u, s, g, b: u ** 3,
              lambda h, z, i, u, s, g, b: u ** u, lambda h, z, i, u, s, g, b: g + 2 ** 40,
              lambda h, z, i, u, s, g, b: g.masked_fill(u > 3, 2 ** 63 - 1), lambda h, z, i, u, s, g, b: g.masked_fill(u > 3, -2 ** 63),
              lambda h, z, i, u, s, g, b: torch.full((2,), 2 ** 53 + 1), lambda h, z, i, u, s, g, b: h.t().argmax(),
              lambda h, z, i, u, s, g, b: torch.stack([b, b * 2]).t().argmax(), lambda h, z, i, u, s, g, b: h.float()[:, None].expand(4, 3).logsumexp((0, 1))]
    return of(calls, h, z, i, u, s, big, b)


@fixture
def made_indices():
    """Indices that arithmetic makes, and one that goes into two tables."""
    class Made(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Embedding(7, 3), nn.Embedding(9, 3)
            self.c = nn.Embedding(12, 2)

        def forward(self, x, i, j, k, m):
            n = k.clone()
            n.add_(2)
            return (self.a(i) + self.b(i), self.a(j - 1), self.c(j + 4), self.c(k * 4 + m), x[:, -k - 1], x[torch.cat([k, k + 1])],
                    self.a(k.int().long() % 7), x[n], self.b((j * 100).clamp(0, 8)), self.b(torch.where(k > 1, k, m + 1)),
                    self.a((j // 2).abs()), x[torch.arange(3)[:, None] + 2, torch.minimum(k, m)])
    return Made(), (rand(6, 6), ints(5, high=7), ints(5, low=1, high=8), ints(3, high=3), ints(3, high=4))


@fixture
def in_place():
    class InPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.zeros(3))
            self.register_buffer("mean", torch.ones(4))

        def forward(self, x, state):
            self.steps.add_(1)
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            y = x * 2
            y[:, 1:3].relu_()
            y.t()[0].add_(5)
            z = y.clone()
            z.fill_(3)
            z[0] = x[1]
            z[1].zero_()
            w = torch.empty_like(x)
            w.copy_(x[0])
            state.add_(1)
            v = y.view(-1)
            v[::2].mul_(-1)
            u = y + 0
            u.fill_(torch.tensor(2.5))
            return y, z, w, self.mean + 0, self.steps * 2, state * 3, u
    return InPlace(), (rand(3, 4), rand(5))


@fixture
def views():
    x, y = rand(2, 3, 4, 6), rand(2, 6)
    return of([lambda x, y: x.view(6, 24) + 0, lambda x, y: x.reshape(2, 12, 6) + 0,
               lambda x, y: x.permute(0, 2, 3, 1).reshape(8, 18) * 1.0, lambda x, y: x.flatten(1) + 1,
               lambda x, y: x.transpose(1, 3) + 1, lambda x, y: y.t() + 1, lambda x, y: x.mT + 1,
               lambda x, y: y.T * 2, lambda x, y: y.unsqueeze(1) + 1, lambda x, y: x[:, :1].squeeze(1) + 1,
               lambda x, y: x[:1, :1].squeeze() + 1, lambda x, y: aten.squeeze.dims(x[:1, :1], [0, 1]) + 1,
               lambda x, y: y[:, None, None].expand(2, 3, 4, 6) + 0, lambda x, y: y[0].expand_as(x) + 0,
               lambda x, y: x[1] + 0, lambda x, y: x[..., -1] + 0, lambda x, y: x[:, 1:] + 0,
               lambda x, y: x[..., ::2] + 0, lambda x, y: x[..., -3:-1] + 0, lambda x, y: x.narrow(3, 1, 4) + 0,
               lambda x, y: [p + 1 for p in x.split(2, 3)], lambda x, y: [p + 1 for p in x.split([1, 2], 1)],
               lambda x, y: [p + 1 for p in aten.split_with_sizes(x, [1, 5], 3)],
               lambda x, y: [p + 1 for p in x.chunk(3, 3)], lambda x, y: [p + 1 for p in x.unbind(1)],
               lambda x, y: x.unfold(3, 3, 2) + 0, lambda x, y: x.swapaxes(1, 2) + 0, lambda x, y: x.swapdims(0, -1) + 0,
               lambda x, y: x.movedim(1, 3) + 0, lambda x, y: x.movedim((0, 1), (2, 0)) + 0, lambda x, y: x.moveaxis(3, 0) + 0,
               lambda x, y: x.moveaxis((0, 3), (3, 1)) + 0, lambda x, y: x.diagonal(dim1=1, dim2=3) + 0,
               lambda x, y: x.diagonal(1, 2, 3) + 0, lambda x, y: (x @ x.mT).diagonal(-1, -1, -2) + 0,
               lambda x, y: x.repeat_interleave(2, 1), lambda x, y: y.repeat_interleave(3), lambda x, y: [p + 1 for p in aten.split.sizes(x, [2, 1], 1)],
               lambda x, y: aten.to.device(x, "cpu", torch.float64), lambda x, y: aten.to.dtype_layout(x, dtype=torch.float64), lambda x, y: x.transpose(0, 1).contiguous(),
               lambda x, y: x.detach() + 1, lambda x, y: aten.alias(x) + 1, lambda x, y: x.to(torch.float16),
               lambda x, y: x.half(), lambda x, y: y.double().float(), lambda x, y: x.type_as(y.double()),
               lambda x, y: y.unflatten(1, (2, 3)) + 0, lambda x, y: x.view_as(x) + 0,
               lambda x, y: aten._unsafe_view(x, [24, 6]) + 0, lambda x, y: aten._to_copy(x, dtype=torch.float64),
               lambda x, y: aten.permute(x.select(2, -2), [2, 1, 0]) + 0], x, y)


@fixture
def joining():
    x, y, z = rand(2, 3, 4), rand(2, 5, 4), rand(2, 3, 4, dtype=torch.float16)
    return of([lambda x, y, z: torch.cat([x, y], 1), lambda x, y, z: torch.cat([x, z, x], 2),
               lambda x, y, z: torch.concat([x, y], -2), lambda x, y, z: torch.concatenate([x, x]),
               lambda x, y, z: torch.cat([y[:, i] for i in range(5)] * 4, 0),
               lambda x, y, z: torch.stack([x, x * 2, x[0].expand_as(x)], 1),
               lambda x, y, z: torch.stack([x, x], -1), lambda x, y, z: F.pad(x, (1, 2, 0, 3), value=1.5),
               lambda x, y, z: F.pad(z, (2, -1)), lambda x, y, z: F.pad(x, (-1, 1, -1, 0)),
               lambda x, y, z: F.pad(x, (2, 1), mode="reflect"), lambda x, y, z: F.pad(x, (2, 1), mode="replicate"),
               lambda x, y, z: F.pad(x, (2, 1), mode="circular"),
               lambda x, y, z: aten.constant_pad_nd(x, [0, 1, 1, 0], -3.0), lambda x, y, z: x.flip(0, 2),
               lambda x, y, z: torch.roll(x, 1, 1), lambda x, y, z: torch.roll(x, (-2, 5), (2, 0)),
               lambda x, y, z: torch.roll(x, 3), lambda x, y, z: x.repeat(2, 1, 3), lambda x, y, z: x[0].repeat(2, 1, 1),
               lambda x, y, z: x.tile(2, 2), lambda x, y, z: torch.tril(x), lambda x, y, z: torch.triu(x, 1),
               lambda x, y, z: torch.tril(z, -1), lambda x, y, z: [t + 0 for t in torch.broadcast_tensors(x[:, :1], y)],
               lambda x, y, z: torch.tril(torch.ones(5, 5, dtype=torch.bool))], x, y, z)


@fixture
def indexing():
    class Indexing(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(7, 5)
            self.small = nn.Embedding(7, 3).half()
            self.register_buffer("places", torch.tensor([[0, 2, 1], [2, 2, 0]]))

        def forward(self, x, i, j, g):
            return (self.embed(i), self.small(i[0]), x[:, j], x[:, self.places], x[self.places, j[None, :3] * 0],
                    x[j.clamp(0, 2), :, j.clamp(0, 2)], torch.index_select(x, 1, j), torch.gather(x, 2, g),
                    torch.gather(x[:2], 1, self.places[:, :, None]), x[:, -j - 1])
    return Indexing(), (rand(3, 4, 6), ints(2, 5, high=7), ints(3, high=4), ints(3, 4, 2, high=6))


@fixture
def creation():
    x = rand(3, 4)
    return of([lambda x: torch.zeros(3, 4) + x, lambda x: torch.ones(4) * x, lambda x: torch.full((3, 1), 2.5) + x,
               lambda x: torch.zeros_like(x) + x, lambda x: torch.ones_like(x, dtype=torch.float64),
               lambda x: torch.full_like(x, -1.5), lambda x: x.new_zeros(4) + x, lambda x: x.new_ones(3, 4),
               lambda x: x.new_full((2, 2), 3.0), lambda x: torch.empty(3, 4).copy_(x), lambda x: x.new_empty(3, 4).copy_(x),
               lambda x: torch.empty_like(x).fill_(4), lambda x: torch.arange(5), lambda x: torch.arange(2, 6) * 2,
               lambda x: torch.arange(0.5, 2.5, 0.25), lambda x: torch.arange(3, dtype=torch.float32)[:, None] + x,
               lambda x: aten.scalar_tensor(2.5) * x, lambda x: torch.linspace(-1, 2, 7), lambda x: torch.eye(3),
               lambda x: torch.eye(3, 4, dtype=torch.float16), lambda x: torch.zeros(2, dtype=torch.bool),
               lambda x: aten.zero(x), lambda x: aten.fill.Scalar(x, 2.0), lambda x: aten.fill.Tensor(x, torch.tensor(3.0))], x)


@fixture
def reductions():
    x = rand(3, 4, 6)
    return of([lambda x: x.sum(), lambda x: x.sum(1), lambda x: x.sum((0, 2), keepdim=True), lambda x: x.mean(),
               lambda x: x.mean(2), lambda x: x.mean((1, 2)), lambda x: x.prod(), lambda x: x.prod(1), lambda x: x.amax(1),
               lambda x: x.amin((0, 1)), lambda x: x.max(), lambda x: x.min(), lambda x: (x > 0).any(),
               lambda x: (x > 0).any(1), lambda x: aten.any.dims(x > 1.5, [0, 1]), lambda x: (x > 0).all(),
               lambda x: (x > -1).all(1), lambda x: x.max(1), lambda x: x.min(2, keepdim=True), lambda x: x.argmax(),
               lambda x: x.argmax(1), lambda x: x.argmin(0), lambda x: torch.linalg.vector_norm(x), lambda x: x.norm(dim=1),
               lambda x: torch.linalg.vector_norm(x, 1, 2), lambda x: aten.norm.Scalar(x, 2),
               lambda x: aten.frobenius_norm.dim(x, [1]), lambda x: aten.norm.ScalarOpt_dim(x, 2, [1]),
               lambda x: x.sum(1, dtype=torch.float64), lambda x: x.mean(1, dtype=torch.float64),
               lambda x: x.half().sum(0), lambda x: x.half().mean(1, dtype=torch.float32),
               lambda x: x.bfloat16().amax(2), lambda x: x.transpose(0, 2).sum(1),
               lambda x: x.var(), lambda x: x.var(1), lambda x: x.std((0, 2), keepdim=True), lambda x: x.std(),
               lambda x: x.var(2, correction=0), lambda x: torch.std(x, 1, correction=2),
               lambda x: aten.var.default(x, False), lambda x: aten.std.default(x, False),
               lambda x: aten.var.dim(x, [1], False), lambda x: aten.std.dim(x, [0]),
               lambda x: torch.var_mean(x, 1), lambda x: aten.var_mean.default(x), lambda x: aten.var_mean.dim(x, [1]),
               lambda x: torch.std_mean(x, 2), lambda x: torch.var_mean(x, 1, correction=0),
               lambda x: torch.std_mean(x, 1, correction=0), lambda x: aten.std_mean.default(x), lambda x: aten.std_mean.dim(x, [1])], x)


@fixture
def long_reductions():
    """Few results of many terms go in parts."""
    x = ints(1, 66000, high=7, dtype=torch.uint8)
    return of([lambda x: x.float().mean(1), lambda x: (x.float() * 0.3).std(1)], x)


@fixture
def scans():
    x, i = rand(3, 5, 4), ints(2, 6)
    return of([lambda x, i: torch.cumsum(x, 1), lambda x, i: torch.cumprod(x, 0), lambda x, i: x.cumsum(-1),
               lambda x, i: x.half().cumsum(2), lambda x, i: i.cumsum(1), lambda x, i: i.cumprod(1),
               lambda x, i: x.flip(1).cumsum(1).flip(1), lambda x, i: torch.cumsum(x, 1, dtype=torch.float64)], x, i)


@fixture
def softmaxes():
    x = rand(3, 5, 4)
    return of([lambda x: torch.softmax(x, 1), lambda x: F.log_softmax(x, -1), lambda x: x.logsumexp(1),
               lambda x: x.logsumexp((1, 2), keepdim=True), lambda x: aten._softmax(x, 0, False),
               lambda x: aten._log_softmax(x, 2, False), lambda x: F.softmin(x, 1), lambda x: x.half().softmax(2),
               lambda x: x.double().softmax(1), lambda x: torch.softmax(x[0, 0, 0], 0)], x)


@fixture
def products():
    class Products(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 5)
            self.b = nn.Linear(6, 5, bias=False)
            self.b.weight = self.a.weight
            self.w = nn.Parameter(torch.randn(6, 4).t())
            self.h = nn.Linear(6, 3).half()

        def forward(self, x, y, v):
            m = x.reshape(-1, 6)
            return (self.a(x), self.b(x), F.linear(x, self.w), x @ y, torch.bmm(x, y), torch.mm(m, y[0]), torch.mv(m, v),
                    torch.dot(v, v), torch.addmm(m[:, :3], m, y[0], beta=0.5, alpha=2),
                    torch.baddbmm(x[:, :, :3], x, y, beta=0.5), x @ v, v @ y, self.h(x.half()), x.double() @ y.double(),
                    F.linear(x, v), torch.outer(v, x[0, 0]), x[0] @ y.transpose(0, 1).reshape(6, -1))
    return Products(), (rand(2, 4, 6), rand(2, 6, 3), rand(6))


@fixture
def convolutions():
    class Convolutions(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Conv2d(4, 6, 3, stride=2, padding=1)
            self.b = nn.Conv2d(4, 4, 3, groups=4, padding="same", bias=False)
            self.c = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1)
            self.d = nn.Conv1d(4, 5, 3, dilation=2)
            self.e = nn.ConvTranspose1d(4, 5, 3, stride=2)
            self.f = nn.Conv3d(1, 2, 2)
            self.g = nn.ConvTranspose3d(1, 2, 2, stride=2)
            self.h = nn.Conv2d(4, 2, 1).half()
            self.k = nn.Conv2d(4, 3, (1, 3), padding="valid")
            self.l = nn.Conv1d(4, 2, 3, padding="same")
            self.m = nn.Conv3d(1, 2, 3, padding="same")

        def forward(self, x):
            v = x[:, None, :, :, 0][..., None].expand(2, 1, 4, 7, 3)
            return (self.a(x), self.b(x), self.c(x), self.d(x[..., 0]), self.e(x[..., 0]), self.f(v), self.g(v[:, :, :2, :2]),
                    self.h(x.half()), self.k(x), self.l(x[..., 0]), self.m(v), aten.convolution(x, self.a.weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1))
    return Convolutions(), (rand(2, 4, 7, 6),)


@fixture
def channels_last():
    conv = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2)).to(
        memory_format=torch.channels_last)
    return conv, (rand(2, 3, 6, 8).to(memory_format=torch.channels_last),)


@fixture
def norms():
    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            self.train_bn = nn.BatchNorm2d(4)
            self.eval_bn = nn.BatchNorm2d(4).eval()
            self.plain = nn.BatchNorm2d(4, affine=False, track_running_stats=False)
            self.ln = nn.LayerNorm((5, 6))
            self.gn = nn.GroupNorm(2, 4)
            self.inorm = nn.InstanceNorm2d(4, affine=True)
            self.rms = nn.RMSNorm(6, eps=1e-5)

        def forward(self, x):
            return (self.train_bn(x), self.eval_bn(x), self.plain(x), self.ln(x), self.gn(x), self.inorm(x), self.rms(x),
                    F.layer_norm(x, (6,)), F.rms_norm(x, (5, 6)), F.normalize(x, dim=1), F.normalize(x, p=1.0, dim=2))
    return Norms(), (rand(3, 4, 5, 6),)


@fixture
def pooling():
    x = rand(2, 3, 7, 8)
    return of([lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), lambda x: F.max_pool1d(x[0], 3, 2),
               lambda x: F.max_pool3d(x, 2), lambda x: F.avg_pool2d(x, 3, 2, 1), lambda x: F.avg_pool1d(x[0], 2),
               lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), lambda x: F.avg_pool3d(x, (1, 2, 2)),
               lambda x: F.avg_pool2d(x, 2, divisor_override=3), lambda x: F.adaptive_avg_pool2d(x, (3, 1)),
               lambda x: F.adaptive_avg_pool1d(x[0], 3), lambda x: F.adaptive_avg_pool1d(x[0].transpose(0, 1), 2), lambda x: F.max_pool2d(x.permute(1, 0, 3, 2), 2), lambda x: F.adaptive_avg_pool3d(x, (1, 2, 8)),
               lambda x: F.max_pool2d(x.half(), 3, dilation=2), lambda x: aten.max_pool2d_with_indices(x, [2, 2])[0],
               lambda x: aten.max_pool3d_with_indices(x, [2, 2, 2])[0]], x)


@fixture
def resampling():
    x = rand(2, 4, 5, 6)
    return of([lambda x: F.interpolate(x, scale_factor=2), lambda x: F.interpolate(x, size=(7, 3)),
               lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
               lambda x: F.interpolate(x, size=(8, 9), mode="bilinear", align_corners=True),
               lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"), lambda x: F.interpolate(x[0], scale_factor=3),
               lambda x: F.interpolate(x[0], size=11, mode="linear"), lambda x: F.interpolate(x[None], scale_factor=2),
               lambda x: F.interpolate(x[None], size=(3, 4, 5), mode="trilinear"), lambda x: F.interpolate(x.half(), scale_factor=1.7),
               lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x[:, :, :4], 2)], x)


@fixture
def attention():
    q, k = rand(2, 3, 5, 4), rand(2, 3, 7, 4)
    mask = torch.rand(5, 7) > 0.3
    mask[2] = False
    bias = rand(3, 5, 7)
    sdpa = F.scaled_dot_product_attention
    return of([lambda q, k, m, b: sdpa(q, k, k), lambda q, k, m, b: sdpa(q, q, q, is_causal=True),
               lambda q, k, m, b: sdpa(q, k, k * 2, attn_mask=m), lambda q, k, m, b: sdpa(q, k, k, attn_mask=b, scale=0.3),
               lambda q, k, m, b: sdpa(q.half(), k.half(), k.half()), lambda q, k, m, b: sdpa(q[0], k[0], k[0, :, :, :2]),
               lambda q, k, m, b: sdpa(q.repeat(1, 2, 1, 1), k, k, enable_gqa=True),
               lambda q, k, m, b: sdpa(q.double(), k.double(), k.double()),
               lambda q, k, m, b: sdpa(q[0, 0], k[0, 0], k[0, 0])], q, k, mask, bias)


@fixture
def transformer():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return layer, (rand(2, 5, 8),)


@fixture
def recurrent():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True)
            self.lstm_bare = nn.LSTM(4, 3, bias=False)
            self.gru = nn.GRU(4, 5, 2, bidirectional=True)
            self.gru_first = nn.GRU(4, 3, batch_first=True, bias=False)
            self.rnn = nn.RNN(4, 5, batch_first=True)
            self.rnn_relu = nn.RNN(4, 5, nonlinearity="relu")

        def forward(self, x, h, c):
            y, (h1, c1) = self.lstm(x, (h, c))
            z, _ = self.lstm_bare(x)
            g, h2 = self.gru(x)
            f, h3 = self.gru_first(x)
            r, h4 = self.rnn(x)
            s, h5 = self.rnn_relu(x)
            return y, h1, c1, z, g, h2, f, h3, r, h4, s, h5
    return Recurrent(), (rand(3, 6, 4), rand(4, 3, 5), rand(4, 3, 5))


@fixture
def recurrent_projected():
    class Projected(nn.Module):
        def __init__(self):
            super().__init__()
            self.two = nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True, proj_size=3)
            self.bare = nn.LSTM(4, 3, bias=False, proj_size=2)

        def forward(self, x, h, c):
            y, (h1, c1) = self.two(x, (h, c))
            z, (h2, c2) = self.bare(x)
            return y, h1, c1, z, h2, c2
    return Projected(), (rand(3, 5, 4), rand(4, 3, 3), rand(4, 3, 6))


@fixture
def losses():
    x, t, p = rand(4, 3), rand(4, 3), rand(4, 3, low=0.05, high=0.95)
    s = torch.sign(rand(4, 3))
    w = rand(3, low=0.5, high=1.5)
    calls = [lambda x, t, p, s, w, r=r, f=f: f(x, t, reduction=r) for r in ("none", "mean", "sum")
             for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss)]
    calls += [lambda x, t, p, s, w: F.smooth_l1_loss(x, t, beta=0.5), lambda x, t, p, s, w: F.smooth_l1_loss(x, t, beta=0.0),
              lambda x, t, p, s, w: F.huber_loss(x, t, delta=0.5),
              lambda x, t, p, s, w: F.kl_div(x, p, reduction="batchmean"), lambda x, t, p, s, w: F.kl_div(x, t, reduction="sum", log_target=True),
              lambda x, t, p, s, w: F.binary_cross_entropy(p, (t > 0).float()), lambda x, t, p, s, w: F.binary_cross_entropy(p, p, weight=w, reduction="none"),
              lambda x, t, p, s, w: F.binary_cross_entropy_with_logits(x, p), lambda x, t, p, s, w: F.binary_cross_entropy_with_logits(x, p, weight=w, pos_weight=w * 2),
              lambda x, t, p, s, w: F.soft_margin_loss(x, s), lambda x, t, p, s, w: F.hinge_embedding_loss(x, s, margin=0.5),
              lambda x, t, p, s, w: F.margin_ranking_loss(x, t, s, margin=0.1),
              lambda x, t, p, s, w: F.triplet_margin_loss(x, t, p), lambda x, t, p, s, w: F.triplet_margin_loss(x, t, p, swap=True, p=1, reduction="none"),
              lambda x, t, p, s, w: F.cosine_embedding_loss(x, t, s[:, 0]),
              lambda x, t, p, s, w: F.cross_entropy(x, p), lambda x, t, p, s, w: F.cross_entropy(x, p, weight=w, label_smoothing=0.1, reduction="sum"),
              lambda x, t, p, s, w: F.mse_loss(x.half(), t.half())]
    return of(calls, x, t, p, s, w)


@fixture
def class_losses():
    x, c, d, w = rand(5, 3), ints(5, high=3), ints(2, 4, high=3), rand(3, low=0.5, high=1.5)
    y = rand(2, 3, 4)
    i = torch.tensor([0, -100, 2, 1, -100])
    log = lambda x: F.log_softmax(x, 1)
    return of([lambda x, c, y, d, w, i: F.cross_entropy(x, c), lambda x, c, y, d, w, i: F.cross_entropy(x, c, reduction="none"),
               lambda x, c, y, d, w, i: F.cross_entropy(x, c, weight=w), lambda x, c, y, d, w, i: F.cross_entropy(x, i),
               lambda x, c, y, d, w, i: F.cross_entropy(x, c, weight=w, label_smoothing=0.2, ignore_index=1),
               lambda x, c, y, d, w, i: F.cross_entropy(y, d, reduction="sum"), lambda x, c, y, d, w, i: F.nll_loss(log(x), c, weight=w),
               lambda x, c, y, d, w, i: F.nll_loss(log(y), d, reduction="none"), lambda x, c, y, d, w, i: F.cross_entropy(x[0], c[0]),
               lambda x, c, y, d, w, i: aten.nll_loss(log(x), c), lambda x, c, y, d, w, i: aten.nll_loss2d(log(y)[..., None], d[..., None])],
              x, c, y, d, w, i)


@fixture
def einsum():
    a, b, c = rand(2, 3, 4), rand(2, 4, 5), rand(5, 3)
    e = torch.einsum
    return of([lambda a, b, c: e("bij,bjk->bik", a, b), lambda a, b, c: e("bij,bjk->ki", a, b), lambda a, b, c: e("bij,bjk,ki->b", a, b, c),
               lambda a, b, c: e("...ij,...jk->...ik", a, b), lambda a, b, c: e("ki,bij", c, a), lambda a, b, c: e("bij->jb", a),
               lambda a, b, c: e("bij->", a), lambda a, b, c: e("i,j->ij", c[0], c[1]), lambda a, b, c: e("bij,bij->bij", a, a),
               lambda a, b, c: e("bI,bI->b", a[:, 0], a[:, 1]), lambda a, b, c: e("ii->i", a[0, :3, :3]),
               lambda a, b, c: e("bij,bjk->bik", a.half(), b.half())], a, b, c)


@fixture
def distances():
    x, y = rand(4, 6), rand(4, 6)
    return of([lambda x, y: F.cosine_similarity(x, y), lambda x, y: F.cosine_similarity(x[:, None], y[None], dim=-1),
               lambda x, y: F.pairwise_distance(x, y), lambda x, y: F.pairwise_distance(x, y, p=1, keepdim=True),
               lambda x, y: torch.cdist(x, y[:3], compute_mode="donot_use_mm_for_euclid_dist"), lambda x, y: torch.cdist(x, y, p=1)], x, y)


@fixture
def activations():
    class Activations(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.PReLU()
            self.each = nn.PReLU(4)

        def forward(self, x):
            return F.glu(x), F.glu(x, 1), self.one(x), self.each(x), F.glu(x.half(), 0)
    return Activations(), (rand(2, 4, 6),)


@fixture
def draws():
    class Draws(nn.Module):
        def forward(self, x):
            y = F.dropout(x, 0.3, training=True) + torch.randn(3, 5)
            z = torch.bernoulli(x.sigmoid()) + torch.rand(5) * torch.rand_like(x)
            return (y, z, torch.randn_like(x) * x, F.dropout(x, 0.3, training=False) + 1, F.dropout(x.half(), 0.5, training=True),
                    F.alpha_dropout(x, 0.3, training=False) + 1, aten.feature_dropout(x, 0.3, False) + 1, aten.bernoulli.p(x, 0.5),
                    F.dropout(x + 0, 0.5, training=True, inplace=True),
                    (x + 0).bernoulli_(0.3))
    return Draws(), (rand(3, 5),)


@fixture
def no_dimensions():
    a, b = torch.tensor(1.5), torch.tensor(-0.5)
    return of([lambda a, b: a + b, lambda a, b: torch.relu(b), lambda a, b: a.sum(), lambda a, b: a.view(1, 1) + 0,
               lambda a, b: torch.stack([a, b]), lambda a, b: a.expand(2, 3) * b, lambda a, b: torch.where(a > b, a, b)], a, b)


@fixture
def attention_by_hand():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
            self.register_buffer("mask", torch.tril(torch.ones(6, 6)).view(1, 1, 6, 6))

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (p.view(b, t, 2, c // 2).transpose(1, 2) for p in self.qkv(x).split(c, 2))
            s = (q @ k.transpose(-2, -1)) * 0.5
            s = s.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")).softmax(-1)
            return self.out((s @ v).transpose(1, 2).contiguous().view(b, t, c))
    return Attention(), (rand(2, 6, 8),)


@fixture
def sorting():
    nan = float("nan")
    x = rand(3, 4, 6)
    y = torch.tensor([[1.0, nan, -2.0, 7.0, float("inf")], [3.0, -1.0, 2.0, nan, 0.0]])
    i, t = torch.randperm(9).view(3, 3), torch.tensor([[2, 1, 2, 1, 1], [0, 0, 3, 0, 3]])
    return of([lambda x, y, i, t: x.sort(1), lambda x, y, i, t: x.sort(-1, descending=True), lambda x, y, i, t: torch.sort(t, stable=True),
               lambda x, y, i, t: torch.sort(t, dim=1, stable=True, descending=True), lambda x, y, i, t: y.sort(1),
               lambda x, y, i, t: y.sort(1, descending=True), lambda x, y, i, t: i.argsort(0), lambda x, y, i, t: torch.argsort(i, stable=True),
               lambda x, y, i, t: x.half().sort(2)[0], lambda x, y, i, t: x.topk(2), lambda x, y, i, t: x.topk(3, 1, largest=False),
               lambda x, y, i, t: y.topk(2, 1), lambda x, y, i, t: i.topk(1, 0)[1], lambda x, y, i, t: x.topk(6, 2)[0]], x, y, i, t)


@fixture
def scattering():
    x, s, i = rand(3, 5), rand(2, 4), torch.tensor([[0, 2, 1, 0], [2, 1, 1, 0]])
    j, k, m = torch.tensor([4, 1, 1]), torch.tensor([2, 0]), torch.rand(3, 5) > 0.5
    r = rand(3, 3)

    def put(f):
        def run(*args):
            y = args[0].clone()
            f(y, *args[1:])
            return y
        return run
    def by_two(y, s, i, j, k, m, r): y[k, j[:2]] = s[0, :2]
    def by_row(y, s, i, j, k, m, r): y[:, j - 5] = r
    def masked(y, s, i, j, k, m, r): y[m] = -3.0
    def rows(y, s, i, j, k, m, r): y[m[:, 0]] = 2.0
    calls = [put(f) for f in (by_two, by_row, masked, rows)]
    calls += [lambda x, s, i, j, k, m, r: x.scatter(0, i, s), lambda x, s, i, j, k, m, r: x.scatter(0, i, 2.5),
              lambda x, s, i, j, k, m, r: x.scatter(0, i, s, reduce="add"), lambda x, s, i, j, k, m, r: x.scatter(0, i, 2.0, reduce="multiply"),
              lambda x, s, i, j, k, m, r: x.scatter_add(0, i, s), lambda x, s, i, j, k, m, r: x.half().scatter_add(0, i, s.half()),
              lambda x, s, i, j, k, m, r: x.long().scatter_add(0, i, i), lambda x, s, i, j, k, m, r: x.scatter_reduce(0, i, s, "sum"),
              lambda x, s, i, j, k, m, r: x.scatter_reduce(0, i, s, "amax"), lambda x, s, i, j, k, m, r: x.scatter_reduce(0, i, s, "amin"),
              lambda x, s, i, j, k, m, r: x.scatter_reduce(0, i, s, "prod"), lambda x, s, i, j, k, m, r: x.index_add(1, j, r, alpha=0.5),
              lambda x, s, i, j, k, m, r: x.half().index_add(1, j, r.half()), lambda x, s, i, j, k, m, r: x.index_copy(0, k, x[1:] * 2),
              lambda x, s, i, j, k, m, r: x.index_fill(1, j, 7.0), lambda x, s, i, j, k, m, r: x.index_fill(1, j, s[0, 0]),
              lambda x, s, i, j, k, m, r: x.index_put([k], x[:2], accumulate=True), lambda x, s, i, j, k, m, r: F.one_hot(i, 4),
              lambda x, s, i, j, k, m, r: aten.slice_scatter(x, r, 1, 1, 4), lambda x, s, i, j, k, m, r: aten.select_scatter(x, r[:, 0], 1, -2)]
    return of(calls, x, s, i, j, k, m, r)


@fixture
def pooling_places():
    x = rand(2, 3, 7, 8)
    return of([lambda x: F.max_pool2d(x, 2, return_indices=True), lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
               lambda x: F.max_pool1d(x[0], 3, 2, return_indices=True), lambda x: F.max_pool3d(x, 2, return_indices=True),
               lambda x: F.max_pool2d(x.half(), 3, dilation=2, return_indices=True)[1], lambda x: F.adaptive_max_pool2d(x, (3, 1), return_indices=True),
               lambda x: F.adaptive_max_pool2d(x, 2), lambda x: F.adaptive_max_pool1d(x[0], 3, return_indices=True), lambda x: F.adaptive_max_pool3d(x, (1, 2, 8)),
               lambda x: aten._adaptive_avg_pool2d(x, [3, 2]), lambda x: aten._adaptive_avg_pool3d(x, [3, 2, 1]),
               lambda x: F.adaptive_max_pool2d(x.double(), (7, 2))], x)


@fixture
def running_extremes():
    x = rand(3, 5, 4)
    y = torch.tensor([[1.0, 3.0, 3.0, float("nan"), 5.0], [-float("inf"), -float("inf"), 2.0, 1.0, 2.0], [0.5, float("inf"), 1.0, -3.0, 7.0]])
    i = ints(2, 6)
    return of([lambda x, y, i: x.cummax(1), lambda x, y, i: x.cummin(2), lambda x, y, i: x.cummax(0)[0], lambda x, y, i: x.half().cummin(1)[0],
               lambda x, y, i: y.cummax(1), lambda x, y, i: y.cummin(1), lambda x, y, i: i.cummax(1), lambda x, y, i: i.cummin(0)[0],
               lambda x, y, i: x.logcumsumexp(1), lambda x, y, i: y.logcumsumexp(1), lambda x, y, i: x.double().logcumsumexp(2)], x, y, i)


@fixture
def resampling_cubic():
    x = rand(2, 2, 5, 6)
    return of([lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), lambda x: F.interpolate(x, size=(8, 3), mode="bicubic", align_corners=True),
               lambda x: F.interpolate(x, scale_factor=1.7, mode="bicubic"), lambda x: F.interpolate(x.double(), scale_factor=1.3, mode="bicubic"),
               lambda x: F.interpolate(x.double(), scale_factor=1.7, mode="bilinear"), lambda x: F.interpolate(x.double(), size=(9, 4), mode="bilinear", align_corners=True),
               lambda x: F.interpolate(x.half(), scale_factor=2, mode="bicubic")], x)


@fixture
def pointwise_more():
    x, y, i = rand(3, 7), rand(3, 7), ints(3, 7, low=1, high=6)
    n = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.5, -2.0, 0.0, 3.0])
    p = rand(3, 7, low=0.05, high=0.95)
    calls = [lambda x, y, i, n, p, f=getattr(torch, f): f(x) for f in "erfc lgamma asinh frac sinc".split()]
    calls += [lambda x, y, i, n, p: torch.acosh(x.abs() + 1), lambda x, y, i, n, p: torch.atanh(p), lambda x, y, i, n, p: torch.erfinv(p),
              lambda x, y, i, n, p: torch.erfc(x.double()), lambda x, y, i, n, p: torch.sinc(x.double()), lambda x, y, i, n, p: F.hardshrink(x),
              lambda x, y, i, n, p: F.softshrink(x, 0.3), lambda x, y, i, n, p: F.softshrink(n), lambda x, y, i, n, p: torch.logaddexp(x, y),
              lambda x, y, i, n, p: torch.logaddexp(n, n), lambda x, y, i, n, p: torch.hypot(x, y), lambda x, y, i, n, p: torch.copysign(x, y),
              lambda x, y, i, n, p: torch.copysign(x, -2.0), lambda x, y, i, n, p: torch.fmax(n, y[0]), lambda x, y, i, n, p: torch.fmin(n, y[0]),
              lambda x, y, i, n, p: i << 2, lambda x, y, i, n, p: i >> 1, lambda x, y, i, n, p: i << i, lambda x, y, i, n, p: i >> i,
              lambda x, y, i, n, p: torch.bitwise_left_shift(i, 3), lambda x, y, i, n, p: torch.bitwise_right_shift(i, i),
              lambda x, y, i, n, p: torch.bitwise_left_shift(i, i), lambda x, y, i, n, p: torch.bitwise_right_shift(i, 2),
              lambda x, y, i, n, p: n.nan_to_num(), lambda x, y, i, n, p: n.nan_to_num(1.0, 2.0, -3.0), lambda x, y, i, n, p: n.half().nan_to_num(),
              lambda x, y, i, n, p: n.double().nan_to_num(), lambda x, y, i, n, p: torch.logit(p), lambda x, y, i, n, p: torch.logit(p, 0.2),
              lambda x, y, i, n, p: torch.addmv(x[:, 0], x, y[0], beta=0.5), lambda x, y, i, n, p: aten.all.dims(x > -1.5, [0, 1])]
    return of(calls, x, y, i, n, p)


@fixture
def native_norms():
    """The norms as PyTorch's decompositions leave them, with what they change."""
    class Norms(nn.Module):
        decompose = True

        def __init__(self):
            super().__init__()
            self.train_bn, self.eval_bn = nn.BatchNorm2d(4), nn.BatchNorm2d(4).eval()
            self.ln, self.gn, self.inorm = nn.LayerNorm((5, 6)), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)

        def forward(self, x):
            layer, layer_mean, layer_scale = aten.native_layer_norm(x, [6], None, None, 1e-5)
            group, group_mean, group_scale = aten.native_group_norm(x, None, None, 3, 4, 30, 2, 1e-5)
            batch, mean, scale = aten.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-3)
            return (self.train_bn(x), self.eval_bn(x), self.ln(x), self.gn(x), self.inorm(x), layer, layer_mean, layer_scale, group, group_mean,
                    group_scale, batch, mean, scale, F.dropout(x, 0.3, training=True))
    return Norms(), (rand(3, 4, 5, 6),)


@fixture
def native_norms_in_place():
    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("mean", "legit_mean"):
                self.register_buffer(name, torch.zeros(4))
            for name in ("var", "legit_var"):
                self.register_buffer(name, torch.ones(4))

        def forward(self, x):
            return (aten.native_batch_norm(x, None, None, self.mean, self.var, True, 0.1, 1e-5)[0],
                    aten._native_batch_norm_legit(x, None, None, self.legit_mean, self.legit_var, True, 0.2, 1e-5)[0],
                    aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5)[0],
                    aten._native_batch_norm_legit_no_training(x, None, None, self.mean, self.var, 0.1, 1e-5)[0])
    return Norms(), (rand(3, 4, 5),)


@fixture
def decomposed():
    """A small network as run_decompositions() leaves it."""
    class Network(nn.Module):
        decompose = True

        def __init__(self):
            super().__init__()
            self.conv, self.bn = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)

        def forward(self, x):
            y = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2)
            return F.interpolate(self.up(F.adaptive_avg_pool2d(y, 2)), scale_factor=2), F.avg_pool2d(x, 2).softmax(1)
    return Network(), (rand(2, 3, 8, 8),)


@fixture
def decomposed_attention():
    class Network(nn.Module):
        decompose = True

        def __init__(self):
            super().__init__()
            self.out = nn.Linear(6, 8)

        def forward(self, x):
            t = self.out(F.gelu(x))[:, None]
            w = x.clone()
            w[:, 1] = 2.0
            return (F.scaled_dot_product_attention(t, t, t, is_causal=True), F.log_softmax(t, 2), w,
                    F.cross_entropy(t[:, 0, 0], torch.tensor([1, 0])))
    return Network(), (rand(2, 3, 6),)


@fixture
def chosen_by_device():
    """Operators that PyTorch itself chooses, and forms that say a factor of each dimension."""
    q, k = rand(2, 3, 5, 4), rand(2, 3, 7, 4)
    x, bias = rand(2, 2, 4, 6), rand(3, 5, 7)
    flash = aten._scaled_dot_product_flash_attention_for_cpu
    return of([lambda q, k, x, b: flash(q, k, k)[0], lambda q, k, x, b: flash(q, q, q, 0.0, True)[0],
               lambda q, k, x, b: flash(q, k, k, attn_mask=b[None].expand(2, 3, 5, 7), scale=0.3)[0],
               lambda q, k, x, b: aten._fused_rms_norm(x, [6], None, 1e-5)[0],
               lambda q, k, x, b: aten.upsample_nearest1d(x[0], [12], 2.0), lambda q, k, x, b: aten.upsample_nearest2d(x, [8, 12], 2.0, 2.0),
               lambda q, k, x, b: aten.upsample_nearest3d(x[None], [4, 8, 12], 2.0, 2.0, 2.0), lambda q, k, x, b: aten.upsample_linear1d(x[0], [9], False, 1.5),
               lambda q, k, x, b: aten.upsample_bilinear2d(x, [7, 5], False), lambda q, k, x, b: aten.upsample_bilinear2d(x, [8, 9], False, 2.0, 1.5),
               lambda q, k, x, b: aten.upsample_trilinear3d(x[None], [3, 5, 4], True), lambda q, k, x, b: aten.upsample_bicubic2d(x, [8, 9], False, 2.0, 1.5)], q, k, x, bias)
