"""Which names of the namespace are variables of the user, and how results reach pawl.

The files of this folder are executed as one module in the kernel. Each variable of the user is one object under one or more names.
"""
import base64
import builtins
import json
import keyword
import sys
import types

MIME = "application/vnd.pawl.variables.v1+json"

OWN_NAMES = frozenset(["In", "Out", "get_ipython", "exit", "quit", "open", "display", "original_ps1", "is_wsl"])

baseline = {}  # name -> value that the kernel itself put into the namespace; only names of values that are still the same are skipped


def type_name(kind):
    """Return the name of a type, such as list or collections.OrderedDict."""
    module, name = type.__getattribute__(kind, "__module__"), type.__getattribute__(kind, "__qualname__")
    return str(name) if module == "builtins" else "%s.%s" % (module, name)


def is_variable(name, value):
    """Report whether a name of the namespace belongs to the user."""
    if type(name) is not str or name.startswith("_") or not name.isidentifier() or keyword.iskeyword(name):
        return False
    if name in baseline and baseline[name] is value:
        return False
    if name in OWN_NAMES:
        module = getattr(type(value), "__module__", "")
        return not (name in ("In", "Out", "open") or type(module) is str and module.split(".")[0] in ("IPython", "builtins", "_sitebuiltins"))
    return True


def variables_of(namespace):
    """Return the user's variables as a list of (name, value), in the order in which the names were defined."""
    return [(name, value) for name, value in list(namespace.items()) if is_variable(name, value)]


def publish(result):
    """Send a result to pawl, as one display."""
    bridge = sys.modules.get("_pawl_bridge")
    if bridge is not None:
        bridge.publish({MIME: result})
        return
    sys.modules["IPython.core.getipython"].get_ipython().display_pub.publish(data={MIME: result}, metadata={})


def reason(error):
    """Return one line that says what an exception means."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    if type(text) is not str or not text:
        text = type_name(type(error))
    elif type(error) not in (TypeError, RuntimeError, ValueError, Refused, Missing):
        text = "%s: %s" % (type_name(type(error)), text)
    return text.encode("utf-8", "replace").decode("utf-8").replace("\n", " ")[:300]


class Refused(Exception):
    """A value is not saved or not loaded, for a reason that is a sentence for people."""


class Missing(Refused):
    """A value needs a name that was not restored, or not yet."""


class Deadline(BaseException):
    """The time limit has passed. Not an Exception, so that code of the user does not catch it."""
