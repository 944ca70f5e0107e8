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


def type_name(kind):
    """Return the name of a type, such as list or collections.OrderedDict."""
    module, name = type.__getattribute__(kind, "__module__"), type.__getattribute__(kind, "__qualname__")
    return str(name) if module == "builtins" else "%s.%s" % (module, name)


def is_variable(name, value):
    """Report whether a name of the namespace belongs to the user."""
    if type(name) is not str or name.startswith("_") or not name.isidentifier() or keyword.iskeyword(name):
        return False
    return not is_own(name, value)


def is_own(name, value):
    """Report whether the kernel itself put a value into the namespace."""
    shell = ipython()
    hidden = getattr(shell, "user_ns_hidden", None)
    return type(hidden) is dict and name in hidden and (hidden[name] is value or name in ("In", "Out"))


def variables_of(namespace):
    """Return the user's variables as a list of (name, value), in the order in which the names were defined."""
    return [(name, value) for name, value in list(namespace.items()) if is_variable(name, value)]


def ipython():
    """Return IPython's shell, or None in a kernel without IPython."""
    module = sys.modules.get("IPython.core.getipython")
    return module.get_ipython() if module is not None else None


def publish(result):
    """Send a result to pawl, as one display."""
    shell = ipython()
    if shell is not None:
        shell.display_pub.publish(data={MIME: result}, metadata={})
    else:
        builtins.display({MIME: result}, raw=True)


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
