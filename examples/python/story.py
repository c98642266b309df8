"""story: tells a story with stories260K, token by token, on any backend.

python story.py --model stories260K_f32.gguf "Once upon a time"
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import qtsaccel as qa
from qtsaccel import ops
from tokenizer import Tokenizer

LAYERS, HEADS, KV_HEADS, HEAD_DIM, CONTEXT, KV_STEP = 5, 8, 4, 8, 512, 64


def build(w: qa.Weights) -> qa.Graph:
    """One step: a token at a position to the logits of the one after it."""
    g = qa.Graph("story")
    n_kv = g.dim("n_kv", KV_STEP, CONTEXT)  # how much of the cache is read
    token, position = g.input("token", np.int32, (1,)), g.input("position", np.int32, (1,))

    def cache(name: str, row: qa.Tensor) -> qa.Tensor:
        rows = g.state(name, np.float32, (CONTEXT, KV_HEADS, HEAD_DIM))
        return ops.state_write(rows, row, position)[:n_kv]

    embeddings = g.weight(w, "token_embd.weight")
    x = ops.embedding(embeddings, token)
    for layer in range(LAYERS):

        def weight(name: str, layer: int = layer) -> qa.Tensor:
            return g.weight(w, f"blk.{layer}.{name}.weight")

        h = ops.rms_norm(x, weight("attn_norm"), eps=1e-5)
        q = ops.linear(h, weight("attn_q")).reshape(1, HEADS, HEAD_DIM)
        k, v = (ops.linear(h, weight(f"attn_{n}")).reshape(1, KV_HEADS, HEAD_DIM) for n in "kv")
        q, k = (ops.rope(t, position, mode="interleaved") for t in (q, k))
        # Rows after the query's position, not written yet, are invisible to it.
        y = ops.attention(q, cache(f"k.{layer}", k), cache(f"v.{layer}", v), positions=position)
        x = x + ops.linear(y.reshape(1, HEADS * HEAD_DIM), weight("attn_output"))
        h = ops.rms_norm(x, weight("ffn_norm"), eps=1e-5)
        h = ops.swiglu(ops.linear(h, weight("ffn_gate")), ops.linear(h, weight("ffn_up")))
        x = x + ops.linear(h, weight("ffn_down"))
    g.output("logits", ops.linear(ops.rms_norm(x, g.weight(w, "output_norm.weight"), eps=1e-5), embeddings))
    return g


def tell(plan: qa.Plan, tokens: list[int], count: int) -> Iterator[int]:
    """The tokens after the prompt's first, and then the likeliest ones."""
    for position in range(min(CONTEXT, len(tokens) + count - 1)):
        step = {"token": np.int32([tokens[position]]), "position": np.int32([position])}
        logits = plan.run(step, dims={"n_kv": (position // KV_STEP + 1) * KV_STEP}, threads=1)["logits"]
        if position + 1 == len(tokens):
            tokens.append(int(logits.argmax()))
        if tokens[position + 1] in (1, 2):
            return  # the story is over
        yield tokens[position + 1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="stories260K_f32.gguf")
    parser.add_argument("--backend")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("prompt", nargs="?", default="")
    o = parser.parse_args()
    tokenizer = Tokenizer(Path(o.model).with_name("tok512.bin"))
    plan = qa.Backend(o.backend).session().plan(build(qa.Weights.open(o.model)))
    before = 1
    for token in tell(plan, tokenizer.encode(o.prompt), o.tokens):
        sys.stdout.buffer.write(tokenizer.decode(before, token))
        sys.stdout.flush()
        before = token
    print()
