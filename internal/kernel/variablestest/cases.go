package variablestest

// Case is a cell that leaves variables.
type Case struct {
	Name    string
	Prepare string // the cell
	Check   string // of values that survive: a cell that prints the same before saving and after loading
	Format  string // of the variable x; "": any
	Why     string // of values that cannot be saved: part of the reason for x
}

// Exact are cells whose variables survive exactly.
var Exact = []Case{
	{Name: "plain", Prepare: `x = {"a": [1, 2.5, None, True, "ä"], "b": {}}`,
		Check: `print(x, list(map(type, x["a"])))`, Format: "json"},
	{Name: "int keys", Prepare: `x = {1: "a", "1": "b"}`,
		Check: `print(x)`, Format: "pickle"},
	{Name: "tuple", Prepare: `x = (1, (2, [3]))`,
		Check: `print(x)`, Format: "pickle"},
	{Name: "nan", Prepare: `x = [float("nan"), float("inf"), -0.0]`,
		Check: `print(x)`, Format: "pickle"},
	{Name: "nan key", Prepare: `nan = float("nan"); x = {nan: 1}`,
		Check: `print(x)`},
	{Name: "surrogates", Prepare: `x = "\ud800"`,
		Check: `print(ascii(x))`, Format: "pickle"},
	{Name: "surrogate key", Prepare: `x = {"\ud800": 1}`,
		Check: `print(ascii(x))`, Format: "pickle"},
	{Name: "large number", Prepare: `x = 10 ** 5000`,
		Check: `print(x.bit_length(), x % 10007)`, Format: "pickle"},
	{Name: "bool is no int", Prepare: `x = True; y = 1`,
		Check: `print(x, y)`, Format: "json"},
	{Name: "bytes", Prepare: `x = bytes(range(256)); y = bytearray(b"abc")`,
		Check: `print(x, y)`, Format: "pickle"},
	{Name: "set", Prepare: `x = {"a", "b", 3}; y = frozenset([1])`,
		Check: `print(sorted(map(str, x)), y, type(x))`, Format: "pickle"},
	{Name: "complex", Prepare: `x = 1 + 2j`,
		Check: `print(x)`, Format: "pickle"},
	{Name: "same list in a list", Prepare: `a = [1]; x = [a, a]`,
		Check: `x[0].append(2); print(x, a)`},
	{Name: "dict subclass", Prepare: `import collections
class D(dict): pass
x = D(a=1); y = collections.OrderedDict(b=2); z = collections.Counter("aab")`,
		Check: `print(x, type(x).__name__, y, z)`},
	{Name: "dates", Prepare: `import datetime, decimal, fractions, pathlib, uuid, re
x = [datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), decimal.Decimal("1.10"), fractions.Fraction(1, 3), pathlib.Path("/a"), uuid.UUID(int=5), re.compile("a+")]`,
		Check: `print(x)`, Format: "pickle"},
	{Name: "modules", Prepare: `import os.path as p, json
from math import sqrt
from collections import OrderedDict as OD`,
		Check: `print(p.__name__, json.__name__, sqrt(4), OD.__name__)`},
	{Name: "function", Prepare: `RATE = 2
def f(a, b=[1], *, c: int = 3):
    "Doc."
    return (a * RATE, b, c)
f.note = "n"
for _ in range(50): f(1)`,
		Check: `print(f(1), f.__doc__, f.note, f.__annotations__, f.__defaults__, f.__module__)`},
	{Name: "changed default", Prepare: `def f(a=[]):
    a.append(1); return a
f(); f()`,
		Check: `print(len(f()))`},
	{Name: "functions that use each other", Prepare: `def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
g = even`,
		Check: `print(even(10), g is even, odd.__globals__ is globals())`},
	{Name: "function and class that use a module which their cell imports", Prepare: `import math
def root(v): return math.sqrt(v)
class Circle:
    def area(self): return math.floor(math.pi) + root(4)`,
		Check: `print(root(9), Circle().area())`},
	{Name: "lambda", Prepare: `square = lambda v: v * v
twice = lambda v: 2 * v`,
		Check: `print(square(3), twice(3))`},
	{Name: "class", Prepare: `class P:
    kind = "p"
    def __init__(self, v): self.v = v
    @property
    def double(self): return self.v * 2
    @staticmethod
    def make(): return P(7)
    def __eq__(self, o): return type(o) is P and o.v == self.v
x = P(5); y = [P(1), P(2)]`,
		Check: `print(x.double, P.make().v, type(x) is P, y == [P(1), P(2)], isinstance(x, P))`},
	{Name: "class without methods", Prepare: `class E(ValueError): pass
class Empty:
    a = 1
x = E("boom"); y = Empty()`,
		Check: `print(repr(x), y.a, type(y) is Empty)`},
	{Name: "subclass", Prepare: `class A:
    def who(self): return "a"
class B(A):
    def who(self): return "b" + super().who()
x = B()`,
		Check: `print(x.who(), B.__mro__[1] is A)`},
	{Name: "dataclass", Prepare: `from dataclasses import dataclass, field
SIZE = 3
@dataclass(frozen=True)
class D:
    a: int
    b: list = field(default_factory=list)
    c: int = SIZE
x = D(1)`,
		Check: `print(x, x == D(1), hash(D(1, ())) != 0)`},
	{Name: "enum", Prepare: `import enum
class Color(enum.Enum):
    RED = 1
    BLUE = enum.auto()
x = Color.RED; y = {Color.BLUE: 2}`,
		Check: `print(x is Color.RED, y[Color.BLUE])`},
	{Name: "namedtuple", Prepare: `from collections import namedtuple
import typing
P = namedtuple("P", "x y")
class Q(typing.NamedTuple):
    a: int
    b: str = "z"
p = P(1, 2); q = Q(1)`,
		Check: `print(p, p.x, q, type(q) is Q)`},
	{Name: "two names", Prepare: `a = [1]; b = a`,
		Check: `b.append(2); print(a, a is b)`},
	{Name: "shared", Prepare: `inner = {"n": 1}; a = [inner]; b = (inner, 2)`,
		Check: `inner["n"] = 5; print(a, b, a[0] is b[0] is inner)`},
	{Name: "cycle", Prepare: `a = []; b = [a]; a.append(b); c = {}; c["self"] = c`,
		Check: `print(a[0] is b, b[0] is a, c["self"] is c)`},
	{Name: "random", Prepare: `import random
random.seed(7); random.gauss(0, 1)`,
		Check: `print(random.gauss(0, 1), random.random())`},
	{Name: "deleted", Prepare: `a = 1; b = 2; del a`,
		Check: `print("a" in globals(), b)`},
	{Name: "hidden builtins", Prepare: `exec = compile = globals = __import__ = None; list = [1]; x = 3`,
		Check: `print(x, list, exec)`},
	{Name: "order", Prepare: `z = 1; a = 2; m = 3`,
		Check: `print([n for n in globals() if n in "zam"])`},
	{Name: "working folder", Prepare: `import os, sys
os.chdir("/usr"); sys.path.append("/usr/share/none")`,
		Check: `print(os.getcwd(), sys.path[-1])`},
	{Name: "strings io", Prepare: `import io
x = io.BytesIO(b"abc"); x.read(1)`,
		Check: `print(x.read())`, Format: "pickle"},
	{Name: "large list", Prepare: `x = [[i] for i in range(60000)]`,
		Check: `print(len(x), x[59999], sum(v[0] for v in x))`, Format: "pickle"},
	{Name: "methods that raise", Prepare: `def fail(*_): raise ValueError("no")
class H:
    __eq__ = __repr__ = __str__ = __len__ = __iter__ = __bool__ = __hash__ = __getattr__ = fail
class D:
    def __del__(self): fail()
x = H(); y = [D()]; z = {"k": H()}`,
		Check: `print(type(x).__name__, type(y[0]) is D, type(z["k"]) is H)`},
	{Name: "large bytes", Prepare: `x = bytes(300000); y = bytes(300000)`,
		Check: `print(len(x), x == y)`, Format: "pickle"},
}

// Unsaveable are cells whose variable x cannot be saved, with limits of 2 MiB and 0.5 s a variable.
var Unsaveable = []Case{
	{Name: "socket", Prepare: `import socket; x = socket.socket()`,
		Why: "cannot pickle 'socket' object"},
	{Name: "generator", Prepare: `x = (i for i in range(3))`,
		Why: "generator"},
	{Name: "file", Prepare: `x = open("/dev/null")`,
		Why: "TextIOWrapper"},
	{Name: "thread", Prepare: `import threading; x = threading.Lock()`,
		Why: "lock"},
	{Name: "connection", Prepare: `import sqlite3; x = sqlite3.connect(":memory:")`,
		Why: "sqlite3.Connection"},
	{Name: "lambda within a list", Prepare: `x = [lambda: 1]`,
		Why: "lambda"},
	{Name: "closure", Prepare: `def make():
    n = 1
    return lambda: n
x = make()`,
		Why: "it uses variables of the function that made it"},
	{Name: "function that uses it", Prepare: `import socket
sock = socket.socket()
def x(): return sock`,
		Why: "it uses sock, which is not saved"},
	{Name: "private name", Prepare: `_hidden = 1
def x(): return _hidden`,
		Why: "it uses _hidden, which is not saved"},
	{Name: "class with effects", Prepare: `def effect(): return 1
class x:
    a = effect()`,
		Why: "its definition calls effect"},
	{Name: "changed class", Prepare: `class x:
    a = 1
x.a = 2`,
		Why: "it was changed after its definition"},
	{Name: "instance of such a class", Prepare: `def effect(): return 1
class C:
    a = effect()
x = C()`,
		Why: "it needs C, which was not restored"},
	{Name: "redefined class", Prepare: `class C: pass
x = C()
class C:
    def f(self): pass`,
		Why: "not the same object"},
	{Name: "function made from text", Prepare: `exec("def x(): pass")`,
		Why: "the source of its cell is not known"},
	{Name: "module made by code", Prepare: `import types; x = types.ModuleType("made")`,
		Why: "it is a module that was not imported by its name"},
	{Name: "reduce raises", Prepare: `class C:
    def __reduce_ex__(self, p): raise ValueError("no")
x = C()`,
		Why: "no"},
	{Name: "getstate raises", Prepare: `class C:
    def __getstate__(self): raise KeyError("k")
x = C()`,
		Why: "KeyError"},
	{Name: "getstate blocks", Prepare: `import time
class C:
    def __getstate__(self):
        while True:
            try: time.sleep(100)
            except Exception: pass
x = C()`,
		Why: "it took longer than 0.5 s"},
	{Name: "getstate exits", Prepare: `class C:
    def __getstate__(self): raise SystemExit(1)
x = C()`,
		Why: ""},
	{Name: "setstate raises", Prepare: `class C:
    a = 1
    def __getstate__(self): return {"a": 1}
    def __setstate__(self, s): raise ValueError("not again")
x = C()`,
		Why: "it does not load: not again"},
	{Name: "setstate ends the process", Prepare: `import os
class C:
    def __getstate__(self): return {"a": 1}
    def __setstate__(self, s): os._exit(0)
x = C()`,
		Why: "loading it ended the process"},
	{Name: "setstate blocks", Prepare: `import time
class C:
    def __getstate__(self): return {"a": 1}
    def __setstate__(self, s): time.sleep(1000)
x = C()`,
		Why: "took longer than 0.5 s"},
	{Name: "loads as something else", Prepare: `class C:
    def __reduce__(self): return (list, ())
x = C()`,
		Why: "it is not what was saved: its type is list"},
	{Name: "loses content", Prepare: `class C:
    def __init__(self): self.a = 5
    def __setstate__(self, s): self.a = 6
x = C()`,
		Why: "its content differs"},
	{Name: "lies about its class", Prepare: `class C:
    @property
    def __class__(self): raise ValueError("no class")
x = C()`, Why: ""},
	{Name: "has no attributes", Prepare: `class C:
    def __getattribute__(self, name): raise ValueError("no " + name)
x = C()`, Why: "no "},
	{Name: "endless", Prepare: `import itertools
class C:
    def __reduce__(self): return (list, (), None, itertools.count())
x = C()`, Why: "it is larger than 2 MiB"},
	{Name: "reduce returns nonsense", Prepare: `class C:
    def __reduce_ex__(self, p): return 5
x = C()`, Why: "must return"},
	{Name: "deep", Prepare: `x = []
for _ in range(100000): x = [x]`,
		Why: "nested too deeply"},
	{Name: "large", Prepare: `x = bytes(3 << 20)`,
		Why: "it is larger than 2 MiB"},
}

// Libraries are cells whose variables survive exactly if numpy and pandas are installed.
var Libraries = []Case{
	{Name: "array", Prepare: "import numpy as np\nx = np.arange(20000.0).reshape(4, 5000); y = x > 3",
		Check: `print(x.dtype, x.shape, x.sum(), y.sum(), y.dtype)`, Format: "npy"},
	{Name: "kinds of arrays", Prepare: `import numpy as np
x = np.asfortranarray([[1, 2], [3, 4]]); a = np.array(["2026-01-01"], "M8[D]"); b = np.array([(1, 2.0)], [("i", "<i4"), ("f", ">f8")])
c = np.array(["ä", "bc"]); d = np.array(5); e = np.empty((0, 3)); f = np.arange(10)[::2]; g = np.array([1 + 2j]); h = np.array([b"ab"])`,
		Check: `print(x.flags.f_contiguous, a, b, b.dtype, c, d.shape, e.shape, f, g, h)`, Format: "npy"},
	{Name: "read-only array", Prepare: "import numpy as np\nx = np.arange(3); x.flags.writeable = False",
		Check: `print(x.flags.writeable)`, Format: "npy"},
	{Name: "array of objects", Prepare: "import numpy as np\nl = [1]\nx = np.array([l, {'a': 1}], dtype=object)",
		Check: `print(x, x[0] is l)`, Format: "pickle"},
	{Name: "subclasses of arrays", Prepare: "import numpy as np\nx = np.ma.masked_array([1, 2], [0, 1]); y = np.rec.array([(1, 'a')], names='n,s')",
		Check: `print(x, y, type(y).__name__)`, Format: "pickle"},
	{Name: "scalars", Prepare: "import numpy as np\nx = np.float64(1.5); y = np.int8(3); z = np.datetime64('2026-01-01')",
		Check: `print(x, y, z, type(x), type(y))`, Format: "pickle"},
	{Name: "numpy.random", Prepare: "import numpy as np\nnp.random.seed(3); np.random.normal(); x = np.random.default_rng(5); x.random()",
		Check: `print(np.random.normal(), np.random.rand(), x.random())`},
	{Name: "frame", Prepare: `import pandas as pd
x = pd.DataFrame({"a": [1, None], "c": pd.Categorical(["u", "v"]), "t": pd.to_datetime(["2026-01-01", None]).tz_localize("Europe/Berlin"), 7: ["s", None]})
x.index.name = "i"; x.attrs["unit"] = "m"
s = pd.Series([1, 2], name="n", dtype="Int64"); i = pd.MultiIndex.from_product([[1, 2], ["a"]], names=["p", "q"])`,
		Check: `print(x, x.dtypes, x.attrs, x.index.name, s, s.dtype, i)`, Format: "pickle"},
	{Name: "frame with a pyarrow that fails", Prepare: `import os, pandas as pd, sys, tempfile
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "pyarrow.py"), "w") as out: out.write("__version__ = '0.1'")
del out
sys.path.append(folder)
x = pd.DataFrame({"a": [1, 2]})`,
		Check: `print(x)`, Format: "pickle"},
	{Name: "same frame", Prepare: "import pandas as pd\nx = pd.DataFrame({'a': [1, 2]}); y = x; z = {'of': x}",
		Check: `y.loc[0, 'a'] = 9; print(x, z['of'] is x is y)`},
	{Name: "frame with lists", Prepare: "import pandas as pd\nx = pd.DataFrame({'a': [[1], [2]]})",
		Check: `print(x)`, Format: "pickle"},
	{Name: "groups", Prepare: "import pandas as pd\nframe = pd.DataFrame({'k': list('aab'), 'v': [1, 2, 3]}); x = frame.groupby('k').sum(); col = frame['v']",
		Check: `print(x, col.sum(), frame.equals(pd.DataFrame({'k': list('aab'), 'v': [1, 2, 3]})))`},
}
