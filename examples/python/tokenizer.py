"""A tokenizer in llama2.c's format, for story.py."""

import struct
from pathlib import Path

VOCABULARY, BEGIN, BYTES = 512, 1, 3  # BYTES: the tokens of the 256 bytes begin there


class Tokenizer:
    def __init__(self, path: Path) -> None:
        data, at = path.read_bytes(), 4
        self.texts: list[bytes] = []
        self.scores: list[float] = []
        for _ in range(VOCABULARY):
            score, n = struct.unpack_from("<fi", data, at)
            self.scores.append(score)
            self.texts.append(data[at + 8 : at + 8 + n])
            at += 8 + n
        self.tokens = {t: i for i, t in enumerate(self.texts)}

    def encode(self, text: str) -> list[int]:
        out = [BEGIN]
        for c in " " + text if text else "":
            b = c.encode()
            out += [self.tokens[b]] if b in self.tokens else [BYTES + n for n in b]
        while True:  # join the neighbours whose joint token scores best
            pairs = [(i, self.tokens.get(self.texts[out[i]] + self.texts[out[i + 1]])) for i in range(1, len(out) - 1)]
            if not (known := [(self.scores[t], -i, t) for i, t in pairs if t is not None]):
                return out
            _, i, t = max(known)
            out[-i : -i + 2] = [t]

    def decode(self, before: int, token: int) -> bytes:
        text = bytes([token - BYTES]) if BYTES <= token < BYTES + 256 else self.texts[token]
        return text[1:] if before == BEGIN and text[:1] == b" " else text
