"""Runs blocks of Python one after the other in one interpreter.

Each line of the input is a JSON list of a name, a line number and a text; for each, a
line of JSON says what it printed and, if it failed, how.
"""

import contextlib
import io
import json
import sys
import traceback

names: dict[str, object] = {"__name__": "__main__"}
for request in sys.stdin:
    name, line, text = json.loads(request)
    printed, failed = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile("\n" * (line - 1) + text, name, "exec"), names)
        except BaseException:
            failed = traceback.format_exc()
    print(json.dumps([printed.getvalue(), failed]), flush=True)
