"""Writes vectors.json: operators computed with numpy in float64, by their papers'
or PyTorch's definitions, for those that ONNX's node tests do not cover.

    python3 core/ops/testdata/vectors.py > core/ops/testdata/vectors.json

Needs numpy; the seed is fixed. Loops are written out on purpose: this is the other
opinion, and shares no code or trick with the kernels.
"""

import itertools
import json

import numpy as np

rng = np.random.default_rng(20240607)
cases = []


def rand(*shape):
    # numbers that f16 has, so that the same inputs serve as f16 weights
    return rng.standard_normal(shape).astype(np.float16).astype(np.float64)


def case(op, inputs, outputs, **attrs):
    def tensor(a):
        if a is None:
            return None
        a = np.asarray(a)
        kind = "i" if a.dtype.kind == "i" else "f"
        return {"shape": list(a.shape), kind: a.ravel().tolist()}

    cases.append({
        "op": op,
        "attrs": attrs,
        "in": [tensor(a) for a in inputs],
        "out": [tensor(a) for a in outputs],
    })


# --- single elements

x = rand(3, 7)
case("abs", [x], [np.where(x < 0, -x, x)])
case("square", [x], [x**2])
case("step", [np.array([-1.0, 0.0, 2.0, -0.0])], [np.array([0.0, 0.0, 1.0, 0.0])])
case("log", [np.abs(x) + 0.1], [np.log(np.abs(x) + 0.1)])
case("silu", [x], [x / (1 + np.exp(-x))])
case("scale", [x], [x * -1.5 + 0.25], scale=-1.5, bias=0.25)
case("clamp", [x], [np.clip(x, -0.5, 0.75)], min=-0.5, max=0.75)
case("softplus", [np.array([-800.0, -1.0, 0.0, 1.0, 800.0])], [np.logaddexp(0, [-800.0, -1.0, 0.0, 1.0, 800.0])])
a, b = rand(4, 1), rand(1, 5)
case("maximum", [a, b], [np.maximum(a, b)])
case("minimum", [a, b], [np.minimum(a, b)])
case("swiglu", [a, a + 1], [a / (1 + np.exp(-a)) * (a + 1)])
case("expand", [a], [np.broadcast_to(a, (2, 4, 3))], shape=[2, 4, 3])
y = rand(2, 6, 3)
for axis in (1, -2):
    first, second = np.split(y, 2, axis=axis)
    case("glu", [y], [first / (1 + np.exp(-second))], axis=axis)
alpha, beta = rand(6), np.abs(rand(6)) + 0.5
case("snake", [y, alpha, beta], [y + np.sin(alpha[:, None] * y) ** 2 / beta[:, None]])

# --- casts: numpy's own f16, and bf16 by rounding the upper half of the bits

wide = rng.standard_normal(64) * 10.0 ** rng.integers(-9, 5, 64)
wide = wide.astype(np.float32).astype(np.float64)
case("cast", [wide], [wide.astype(np.float16).astype(np.float64)], dtype="f16")
bits = wide.astype(np.float32).view(np.uint32).astype(np.uint64)
low, up = bits & 0xFFFF, bits >> 16
up = up + ((low > 0x8000) | ((low == 0x8000) & (up & 1 == 1)))
case("cast", [wide], [(up << 16).astype(np.uint32).view(np.float32).astype(np.float64)], dtype="bf16")
case("cast", [wide], [np.trunc(wide).astype(np.int64)], dtype="i32")

# --- sums

case("cumsum", [y], [np.cumsum(y, axis=1)], axis=1)
z, w, bias = rand(2, 3, 5), rand(4, 5), rand(4)
case("linear", [z, w, bias], [np.einsum("abi,oi->abo", z, w) + bias])
a, b = rand(2, 1, 3, 4), rand(5, 4, 2)
case("matmul", [a, b], [a @ b])

# --- norms


def group_norm(x, groups, weight, bias, eps):
    out = np.empty_like(x)
    n, c = x.shape[:2]
    for i, g in itertools.product(range(n), range(groups)):
        part = x[i, g * c // groups:(g + 1) * c // groups]
        out[i, g * c // groups:(g + 1) * c // groups] = (part - part.mean()) / np.sqrt(part.var() + eps)
    for ch in range(c):
        out[:, ch] = out[:, ch] * weight[ch] + bias[ch]
    return out


weight, bias = rand(6), rand(6)
for shape in ((2, 6, 4), (2, 6, 3, 2), (3, 6)):
    g = rand(*shape)
    case("group_norm", [g, weight, bias], [group_norm(g, 2, weight, bias, 1e-3)], groups=2, eps=1e-3)

# --- rope: RoFormer's rotation as a product of complex numbers


def rope(x, positions, base, mode, dims, scale):
    t, heads, d = x.shape
    dims = dims or d
    out = x.copy()
    for j, h, i in itertools.product(range(t), range(heads), range(dims // 2)):
        p, q = (i, i + dims // 2) if mode == "half" else (2 * i, 2 * i + 1)
        turned = complex(x[j, h, p], x[j, h, q]) * np.exp(1j * positions[j] * scale * base ** (-2 * i / dims))
        out[j, h, p], out[j, h, q] = turned.real, turned.imag
    return out


positions = np.array([0, 1, 7, 1000, 3])
for mode, base, dims, scale in (
    ("half", 10000.0, 0, 1.0), ("interleaved", 10000.0, 0, 1.0), ("half", 500000.0, 6, 0.25), ("interleaved", 100.0, 4, 2.0),
):
    q = rand(5, 2, 8)
    case("rope", [q, positions], [rope(q, positions, base, mode, dims, scale)], base=base, mode=mode, dims=dims, scale=scale)

# --- attention, by loops over all keys


def attention(q, k, v, visible, mask, scale):
    t, heads, d = q.shape
    out = np.zeros((t, heads, v.shape[2]))
    for j, h in itertools.product(range(t), range(heads)):
        kv = h // (heads // k.shape[1])
        scores = np.array([scale * (q[j, h] @ k[i, kv]) + (mask[j, i] if mask is not None else 0.0) for i in range(k.shape[0])])
        seen = np.array([visible(i, j) for i in range(k.shape[0])])
        e = np.where(seen, np.exp(scores - scores[seen].max()), 0.0)
        out[j, h] = (e / e.sum()) @ v[:, kv]
    return out


q, k, v = rand(4, 6, 8), rand(9, 2, 8), rand(9, 2, 5)
m = rand(4, 9)
at = np.array([3, 8, 0, 5])
case("attention", [q, k, v], [attention(q, k, v, lambda i, j: True, None, 8**-0.5)])
case("attention", [q, k, v, m], [attention(q, k, v, lambda i, j: True, m, 0.3)], scale=0.3)
case("attention", [q, k, v], [attention(q, k, v, lambda i, j: i <= 5 + j, None, 8**-0.5)], causal=1)
case("attention", [q, k, v], [attention(q, k, v, lambda i, j: 5 + j - 3 < i <= 5 + j, None, 8**-0.5)], causal=1, window=3)
case("attention", [q, k, v, None, at], [attention(q, k, v, lambda i, j: i <= at[j], None, 8**-0.5)])
case("attention", [q, k, v, m, at], [attention(q, k, v, lambda i, j: at[j] - 2 < i <= at[j], m, 8**-0.5)], window=2)

# --- convolutions, one product at a time


def conv(x, w, bias, stride, padding, dilation, groups):
    """Any number of spatial axes; padding is [(before, after), ...]."""
    x = np.pad(x, [(0, 0), (0, 0)] + padding)
    spatial = [(x.shape[2 + i] - (w.shape[2 + i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in range(len(stride))]
    out = np.zeros((x.shape[0], w.shape[0], *spatial))
    for at in np.ndindex(*out.shape):
        n, o, *place = at
        group = o // (w.shape[0] // groups)
        for tap in np.ndindex(*w.shape[1:]):
            c, *k = tap
            where = tuple(p * s + j * d for p, s, j, d in zip(place, stride, k, dilation))
            out[at] += w[(o, *tap)] * x[(n, group * w.shape[1] + c, *where)]
        out[at] += bias[o]
    return out


for stride, padding, dilation, groups in ((1, [0], 1, 1), (2, [1, 3], 1, 2), (3, [2], 2, 4)):
    c, w, bias = rand(2, 4, 11), rand(8, 4 // groups, 3), rand(8)
    sides = (padding[0], padding[-1])
    case("conv1d", [c, w, bias], [conv(c, w, bias, [stride], [sides], [dilation], groups)],
         stride=stride, padding=padding, dilation=dilation, groups=groups)
for stride, padding, dilation, groups in (([1], [1], [1], 1), ([2, 1], [0, 2], [1, 2], 2), ([2], [1, 0, 2, 3], [2, 1], 4)):
    c, w, bias = rand(2, 4, 7, 8), rand(4, 4 // groups, 3, 2), rand(4)
    sides = {1: [0, 0, 0, 0], 2: [0, 1, 0, 1], 4: [0, 1, 2, 3]}[len(padding)]
    top, left, bottom, right = (padding[i] for i in sides)
    case("conv2d", [c, w, bias],
         [conv(c, w, bias, [stride[0], stride[-1]], [(top, bottom), (left, right)], [dilation[0], dilation[-1]], groups)],
         stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv_transpose1d(x, w, bias, stride, padding, output_padding, dilation, groups):
    n, c, l = x.shape
    full = np.zeros((n, w.shape[1] * groups, (l - 1) * stride + dilation * (w.shape[2] - 1) + 1 + output_padding))
    for i, ch, o, k, j in itertools.product(range(n), range(c), range(w.shape[1]), range(w.shape[2]), range(l)):
        full[i, ch // (c // groups) * w.shape[1] + o, j * stride + k * dilation] += w[ch, o, k] * x[i, ch, j]
    full += bias[:, None]
    return full[:, :, padding[0]:full.shape[2] - padding[-1]]


for stride, padding, extra, dilation, groups in ((1, [0], 0, 1, 1), (2, [1, 2], 1, 1, 2), (3, [2], 2, 2, 4)):
    c, w, bias = rand(2, 4, 6), rand(4, 3, 5), rand(3 * groups)
    case("conv_transpose1d", [c, w, bias], [conv_transpose1d(c, w, bias, stride, padding, extra, dilation, groups)],
         stride=stride, padding=padding, output_padding=extra, dilation=dilation, groups=groups)

# --- images

image = rand(2, 18, 2, 3)
r, (n, c, h, w) = 3, image.shape
crd = image.reshape(n, c // 9, r, r, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 9, h * r, w * r)
dcr = image.reshape(n, r, r, c // 9, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // 9, h * r, w * r)
case("depth_to_space", [image], [crd], block=3)
case("depth_to_space", [image], [dcr], block=3, mode="DCR")
case("upsample", [image], [image.repeat(3, axis=2).repeat(2, axis=3)], scale=[3, 2])
case("pad", [image[:, :2]], [np.pad(image[:, :2], [(0, 0), (0, 1), (1, 1), (2, 0)], mode="reflect")],
     pads=[0, 0, 1, 2, 0, 1, 1, 0], mode="reflect")

print(json.dumps(cases))
