"""How `make site` renders docs/: Sphinx with MyST and Furo.

The pages are those of docs/, which read as well where they lie; index.md says their
order. Added are the header, as capi/gen renders it into reference/, and the Python
package by its docstrings, for which the library is not loaded.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).resolve().parents[2]
HEADER = (ROOT / "include" / "qtsaccel.h").read_text()
sys.path.insert(0, str(ROOT / "bindings" / "python"))

project = "qtsaccel"
version = release = ".".join(re.findall(r"^#define QTSA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER, re.M))
project_copyright = "the authors of qtsaccel, under the MIT licence"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["site"]

html_theme = "furo"
html_title = f"qtsaccel {version}"
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"

myst_heading_anchors = 3

autodoc_mock_imports = ["qtsaccel._library"]
autodoc_member_order = "bysource"
ALIASES = ("Array", "Attributes", "DTypeLike", "Operand", "Progress")
autodoc_type_aliases = {name: name for name in ALIASES} | {"npt.ArrayLike": "ArrayLike"}

# A broken link of any kind fails the build (-W), but for names of other projects.
nitpicky = True
nitpick_ignore_regex = [
    ("c:identifier", r"u?int\d+_t|size_t"),
    ("py:.*", r"qtsaccel\._.*"),  # not for users
    ("py:.*", r"(np|npt|numpy|ctypes|_ctypes|collections\.abc|os)\..*"),
    ("py:.*", "ArrayLike|Any|Callable|Iterable|Mapping|Sequence|" + "|".join(ALIASES)),
]


class HeaderNames(SphinxTransform):
    """Links names of the header that guides set as code, such as `qtsa_plan_run`, to the reference."""

    default_priority = 200
    known = frozenset(re.findall(r"\b(?:qtsa|QTSA)_\w+\b", HEADER))

    def apply(self, **_: Any) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().removesuffix("()")
            if name in self.known and not isinstance(literal.parent, (nodes.reference, pending_xref)):
                link = pending_xref(
                    "", refdomain="c", reftype="any", reftarget=name, refexplicit=True, refdoc=self.env.docname
                )
                literal.replace_self(link)
                link += literal


# What has a page on the site only, by where the guides link to.
RENDERED = {"../include/qtsaccel.h": "reference/index.rst", "../bindings/python/README.md": "python-api.rst"}


def adapt(_: Sphinx, docname: str, source: list[str]) -> None:
    """Links to what is rendered, and makes the lists of index.md the site's contents."""
    for path, page in RENDERED.items():
        source[0] = source[0].replace(f"]({path})", f"]({page})")
    source[0] = re.sub(r"\]\((\.\./\S+\.md)\)", r"](path:\1)", source[0])  # a file, not a page
    if docname == "index":
        for caption, part in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", source[0], re.M | re.S):
            pages = "\n".join(re.findall(r"^- \[.*?\]\((\S+)\.(?:md|rst)\)", part, re.M))
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"


def as_text(*given: Any) -> None:
    """Reads docstrings as what they are: plain text, with examples indented."""
    lines: list[str] = given[-1]
    example = False
    for i, line in enumerate(lines):
        if not line.startswith("    "):
            example = example and not line
            lines[i] = re.sub(r"([*`|\\])", r"\\\1", line)
        elif not example and (i == 0 or not lines[i - 1]):
            example = True
            lines[i] = f".. code-block:: python\n\n{line}"
    lines[:] = [part for line in lines for part in line.split("\n")]


def short(*given: Any) -> tuple[str | None, str | None]:
    """A signature with its aliases by their names."""
    signature, result = (text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in given[-2:])
    return signature, result


def is_field(_: Sphinx, what: str, name: str, obj: object, *__: Any) -> bool | None:
    """Leaves out what a NamedTuple says of its fields; its signature has them."""
    return True if (getattr(obj, "__doc__", "") or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers what is above."""
    app.add_transform(HeaderNames)
    app.connect("source-read", adapt)
    app.connect("autodoc-process-docstring", as_text)
    app.connect("autodoc-process-signature", short)
    app.connect("autodoc-skip-member", is_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
