"""What the readme shows runs."""

from __future__ import annotations

import re

from conftest import ROOT, python

README = ROOT / "bindings" / "python" / "README.md"


def test_code_blocks_run():
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)
    assert blocks
    for block in blocks:
        r = python(block, QTSACCEL_BACKEND="cpu")
        assert r.returncode == 0, r.stderr
        assert "backend:" in r.stdout
