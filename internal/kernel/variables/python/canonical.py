"""Fingerprints: the type, shape and content of a value, which are the same in another process.

No method of the user is called but __reduce_ex__, which pickle calls, too.
"""
import hashlib
import itertools
import marshal

ATOMS = frozenset([type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented)])
MAX_NODES = 50000  # more objects than that are compared by type alone: Python would take too long


class Unstable(Exception):
    """The content has no hash that is the same in another process."""


def numpy_of(value):
    """Return the module numpy if a value is one of its arrays, else None. Subclasses are not arrays here."""
    numpy = sys.modules.get("numpy")
    return numpy if numpy is not None and type(value) is getattr(numpy, "ndarray", None) else None


def pandas_of(value):
    """Return the module pandas if a value is a DataFrame, Series or Index, else None."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not hasattr(pandas, "DataFrame"):
        return None
    return pandas if type(value) in (pandas.DataFrame, pandas.Series) or issubclass(type(value), pandas.Index) else None


class Digest:
    """Hashes one value. Objects that were met before are numbered, so that cycles end and sharing counts."""

    def __init__(self):
        self.hash = hashlib.sha256()
        self.met = {}
        self.alive = []  # so that ids stay unique
        self.left = MAX_NODES
        self.reduced = False

    def add(self, value):
        kind = type(value)
        self.left -= 1
        if self.left < 0:
            raise Unstable("it has too many objects")
        if kind in ATOMS:
            self.write(b"atom", marshal.dumps(value, 2))
            return
        if id(value) in self.met:
            self.write(b"met", b"%d" % self.met[id(value)])
            return
        self.met[id(value)] = len(self.met)
        self.alive.append(value)
        self.write(b"type", type_name(kind).encode("utf-8", "surrogatepass"))
        if kind is list or kind is tuple:
            self.add_sequence(value)
        elif kind is dict:
            self.add_sequence(list(value.keys()))
            self.add_sequence(list(value.values()))
        elif kind is set or kind is frozenset:
            self.add_set(value)
        elif kind is bytearray:
            self.write(b"data", bytes(value))
        elif numpy_of(value):
            self.add_array(value)
        elif pandas_of(value):
            self.add_pandas(value)
        elif type_name(kind) == "numpy.ma.core.MaskedArray":  # its pickle sets a fill value
            ma = sys.modules["numpy.ma"]
            for part in (ma.getdata(value, subok=False), ma.getmaskarray(value), value.fill_value):
                self.add(part)
        elif isinstance_of(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            self.write(b"global", ("%s.%s" % (value.__module__, value.__qualname__)).encode("utf-8", "surrogatepass"))
        else:
            self.add_reduced(value)

    def write(self, tag, data):
        self.hash.update(b"%s %d " % (tag, len(data)))
        self.hash.update(data)

    def add_sequence(self, values):
        self.write(b"length", b"%d" % len(values))
        if set(map(type, values)) <= ATOMS:  # in C
            self.write(b"atoms", marshal.dumps(list(values), 2))
            return
        for value in values:
            self.add(value)

    def add_set(self, values):
        digests = []
        for value in values:
            one = Digest()
            one.left = self.left
            one.add(value)
            self.left, self.reduced = one.left, self.reduced or one.reduced
            digests.append(one.hash.digest())
        self.write(b"set", b"".join(sorted(digests)))

    def add_array(self, array):
        numpy = sys.modules["numpy"]
        self.write(b"array", ("%r %r" % (array.dtype, array.shape)).encode("utf-8"))
        if array.dtype.hasobject:
            self.add_sequence(array.ravel().tolist())
            return
        flat = numpy.ascontiguousarray(array).reshape(-1)
        if flat.size and flat.dtype.itemsize:
            self.hash.update(flat.view(numpy.uint8))

    def add_pandas(self, value):
        pandas = sys.modules["pandas"]
        hashed = pandas.util.hash_pandas_object(value)  # does not tell columns, names and dtypes
        self.hash.update(hashed.to_numpy().tobytes())
        self.write(b"length", b"%d" % len(value))
        if type(value) is pandas.DataFrame:
            self.add(value.columns)
            self.write(b"dtypes", repr([str(t) for t in value.dtypes]).encode("utf-8", "surrogatepass"))
            self.add(dict(value.attrs))
        else:
            self.write(b"dtype", str(value.dtype).encode("utf-8", "surrogatepass"))
        if not issubclass(type(value), pandas.Index):
            self.add(value.index)
            self.add(getattr(value, "name", None) if type(value) is pandas.Series else None)
        else:
            self.add(list(value.names))

    def add_reduced(self, value):
        self.reduced = True
        parts = value.__reduce_ex__(4)
        self.alive.append(parts)
        if type(parts) is str:
            self.write(b"global", parts.encode("utf-8", "surrogatepass"))
            return
        for i, part in enumerate(parts):
            if i >= 3 and part is not None:  # iterators of items
                part = list(itertools.islice(part, self.left + 1))  # it may never end
                self.alive.append(part)
            self.add(part)


def isinstance_of(value, kinds):
    """Like isinstance, without asking the value, which may lie about its class."""
    return issubclass(type(value), kinds)


def fingerprint(value):
    """Return type, shape, dtype and hash of a value; hash is None if it is not the same in another process."""
    found = {"type": type_name(type(value))}
    if numpy_of(value) or pandas_of(value):
        found["shape"] = [int(n) for n in value.shape]
        if hasattr(value, "dtype"):
            found["dtype"] = str(value.dtype)
    elif type(value) in (list, tuple, dict, set, frozenset, str, bytes, bytearray):
        found["shape"] = [len(value)]
    digest = Digest()
    try:
        digest.add(value)
        found["hash"] = digest.hash.hexdigest()
    except Exception:  # also of the user's code
        found["hash"] = None
    return found, digest.reduced


def size_of(value):
    """Return how many bytes of memory a value takes, for people; of containers without their content."""
    if numpy_of(value):
        return int(value.nbytes)
    if pandas_of(value):
        total = value.memory_usage(deep=False) if hasattr(value, "memory_usage") else 0
        return int(getattr(total, "sum", lambda: total)())
    try:
        return sys.getsizeof(value)
    except Exception:
        return 0
