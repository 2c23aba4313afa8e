"""Operators on single elements."""
import torch
import torch.nn.functional as F

from modules.helpers import aten, fixture, ints, of, rand

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
def no_dimensions():
    a, b = torch.tensor(1.5), torch.tensor(-0.5)
    return of([lambda a, b: a + b, lambda a, b: torch.relu(b), lambda a, b: a.sum(), lambda a, b: a.view(1, 1) + 0,
               lambda a, b: torch.stack([a, b]), lambda a, b: a.expand(2, 3) * b, lambda a, b: torch.where(a > b, a, b)], a, b)


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
def pointwise_names():
    """Operators under their other names."""
    x, y, n = rand(3, 7), rand(7), torch.tensor([float("nan"), float("inf"), -float("inf"), 1.5, -2.0, 0.0, -0.0])
    names = "absolute arcsinh arctan fix sgn special_erf special_erfc special_exp2 special_expit special_expm1 special_sinc special_round"
    calls = [lambda x, y, n, f=default(name): (f(x), f(n)) for name in names.split()]
    calls += [lambda x, y, n, f=default(name): f(x * 0.4) for name in "arccos arcsin arctanh special_erfinv".split()]
    calls += [lambda x, y, n, f=default(name): f(x.abs() + 1) for name in "arccosh special_gammaln special_log1p".split()]
    calls += [lambda x, y, n, f=getattr(aten, name): (f.Tensor(x, y), f.Scalar(x, 0.5))
              for name in "greater greater_equal less less_equal not_equal".split()]
    calls += [lambda x, y, n: torch.arctan2(x, y), lambda x, y, n: aten.clip.Tensor(x, y, y + 1),
              lambda x, y, n: aten.divide.Tensor_mode(x, y, rounding_mode="floor"), lambda x, y, n: aten.divide.Scalar_mode(x, 0.3, rounding_mode="trunc"),
              lambda x, y, n: torch.special.logit(x.sigmoid()), lambda x, y, n: torch.special.xlogy(x, y.abs()),
              lambda x, y, n: aten.special_xlogy.self_scalar(2.0, y.abs()), lambda x, y, n: aten.special_xlogy.other_scalar(x, 2.0)]
    return of(calls, x, y, n)


@fixture
def pointwise_arithmetic():
    x, y, i, j = rand(3, 7), rand(3, 7), ints(3, 7, low=1, high=6), ints(3, 7, low=-5, high=6)
    n = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.5, -2.0, 0.0, -0.0])
    p = rand(3, 7, low=0.05, high=0.95)
    calls = [lambda *a, f=f: (f(a[0]), f(a[4]), f(a[0].double())) for f in (torch.deg2rad, torch.rad2deg, torch.signbit, torch.isposinf, torch.isneginf)]
    calls += [lambda x, y, i, j, n, p: (torch.signbit(j), torch.signbit(x.half()), torch.deg2rad(j), torch.isposinf(j)),
              lambda x, y, i, j, n, p: (torch.heaviside(x, y), torch.heaviside(n, y[0]), torch.heaviside(j, i)),
              lambda x, y, i, j, n, p: (torch.ldexp(x, j), torch.ldexp(x, y), torch.ldexp(x.double(), j)),
              lambda x, y, i, j, n, p: (torch.logaddexp2(x, y), torch.logaddexp2(n, n), torch.logaddexp2(x.double(), y.double())),
              lambda x, y, i, j, n, p: (torch.xlogy(2.0, p), torch.xlogy(x, 2.0), torch.xlogy(0, p)),
              lambda x, y, i, j, n, p: (torch.special.xlog1py(x, p), torch.special.entr(x), torch.special.entr(n), torch.special.ndtr(x)),
              lambda x, y, i, j, n, p: (torch.angle(x), torch.angle(n), torch.angle(x.double())),
              lambda x, y, i, j, n, p: (torch.float_power(p, 1.7), torch.float_power(p, y), torch.float_power(2.0, y), torch.float_power(j, 2)),
              lambda x, y, i, j, n, p: (torch.round(x, decimals=2), torch.round(x * 100, decimals=-1), torch.round(x, decimals=0), torch.round(x.double(), decimals=3)),
              lambda x, y, i, j, n, p: (aten.true_divide.Scalar(x, 3.0), aten.where.Scalar(x > 0, 1.5, -2.5), torch.where(x > 0, 1, 2)),
              lambda x, y, i, j, n, p: (torch.remainder(2.5, y), torch.remainder(7, j.abs() + 1)),
              lambda x, y, i, j, n, p: (3 & i, aten.bitwise_and.Scalar_Tensor(3, i), aten.bitwise_or.Scalar_Tensor(3, i), aten.bitwise_xor.Scalar_Tensor(3, i)),
              lambda x, y, i, j, n, p: (aten.bitwise_left_shift.Scalar_Tensor(3, i), aten.bitwise_right_shift.Scalar_Tensor(200, i)),
              lambda x, y, i, j, n, p: (torch.isclose(x, x + 3e-6 * y), torch.isclose(n, n), torch.isclose(n, n, equal_nan=True), torch.isclose(x, y, 0.5, 0.25))]
    return of(calls, x, y, i, j, n, p)
