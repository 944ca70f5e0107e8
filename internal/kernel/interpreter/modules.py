"""Prints, as a line of JSON, the version of this interpreter and which of the modules in sys.argv it has none of."""
import sys

del sys.path[0]  # the current folder

from importlib.util import find_spec
import json
import os
import sysconfig

stdlib = sysconfig.get_path("stdlib")
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3],
    "missing": [name for name in sys.argv[1:] if find_spec(name) is None],
    "pip": find_spec("pip") is not None,
    "managed": os.path.exists(os.path.join(stdlib, "EXTERNALLY-MANAGED")),
}))
