"""How values become bytes: npy, json and parquet, which run no code when they are read, else pickle."""
import importlib.util
import io
import os
import pickle

SMALL = 64 << 10  # values up to this size share one file
MAX_PLAIN = 10000


def is_plain(value):
    """Report whether JSON returns exactly this value: exact types, no container twice, no depth that JSON cannot read."""
    met, stack, left = set(), [(value, 0)], MAX_PLAIN
    while stack:
        one, depth = stack.pop()
        kind = type(one)
        left -= 1
        if left < 0 or depth > 50:
            return False
        if kind is float:
            if one != one or one in (float("inf"), float("-inf")):
                return False
        elif kind is str:
            if not is_text(one):
                return False
        elif kind is int:
            if one.bit_length() > 10000:  # Python limits the digits that it reads
                return False
        elif kind is list or kind is dict:
            if id(one) in met or kind is dict and not all(type(key) is str and is_text(key) for key in one):
                return False
            met.add(id(one))
            stack.extend((inner, depth + 1) for inner in (one if kind is list else one.values()))
        elif one is not None and kind is not bool:
            return False
    return True


def is_text(text):
    """Report whether a string has no surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def format_of(value):
    """Return the format in which a value is saved."""
    if numpy_of(value) and not value.dtype.hasobject:
        return "npy"
    if is_plain(value):
        return "json"
    pandas = pandas_of(value)
    if pandas and type(value) is pandas.DataFrame and importlib.util.find_spec("pyarrow") is not None:
        return "parquet"
    return "pickle"


def encode(value, form, sink):
    """Write a value in a format."""
    if form == "npy":
        sys.modules["numpy"].lib.format.write_array(sink, value, allow_pickle=False)
    elif form == "json":
        sink.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
    elif form == "parquet":
        buffer = io.BytesIO()
        value.to_parquet(buffer, engine="pyarrow")
        if fingerprint(decode(buffer.getvalue(), form, {})) != fingerprint(value):
            raise Refused("parquet does not keep it exactly")
        sink.write(buffer.getvalue())
    else:
        pickle.Pickler(sink, 5 if sys.version_info >= (3, 8) else 4).dump(value)


def decode(data, form, namespace):
    """Return the value of bytes that were checked. Pickles find what was defined in cells in namespace."""
    if form == "npy":
        import numpy
        return numpy.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    if form == "json":
        return json.loads(bytes(data).decode("utf-8"))
    if form == "parquet":
        import pandas
        return pandas.read_parquet(io.BytesIO(data), engine="pyarrow")
    return Unpickler(data, namespace).load()


class Unpickler(pickle.Unpickler):
    """Reads a pickle whose classes and functions of __main__ are those of a namespace."""

    def __init__(self, data, namespace):
        super().__init__(io.BytesIO(data))
        self.namespace = namespace

    def find_class(self, module, name):
        if module != "__main__":
            return super().find_class(module, name)
        first, *rest = name.split(".")
        if first not in self.namespace:
            raise Missing("it needs %s, which was not restored" % first)
        found = self.namespace[first]
        for part in rest:
            found = getattr(found, part)
        return found


class Sink:
    """Takes the bytes of one value: in memory while they are few, then in a file. Counts and hashes them."""

    def __init__(self, folder, limit):
        self.folder, self.limit = folder, limit
        self.parts, self.length, self.hash, self.file, self.name = [], 0, hashlib.sha256(), None, None

    def write(self, data):
        view = memoryview(data).cast("B") if not isinstance(data, bytes) else data
        self.length += len(view)
        if self.length > self.limit:
            raise Refused("it is larger than %s" % bytes_text(self.limit))
        self.hash.update(view)
        if self.file is None and self.length <= SMALL:
            self.parts.append(bytes(view))
            return len(view)
        if self.file is None:
            self.name = "v-" + os.urandom(8).hex()
            self.file = open_new(os.path.join(self.folder, self.name))
            self.file.write(b"".join(self.parts))
            self.parts = []
        self.file.write(view)
        return len(view)

    def close(self):
        if self.file is not None:
            self.file.close()

    def drop(self):
        """Remove what was written."""
        self.close()
        if self.name is not None:
            os.unlink(os.path.join(self.folder, self.name))
            self.name = None


def open_new(path):
    """Create a file that only this user can read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", 1 << 20)


def bytes_text(count):
    """Return a number of bytes for people."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return "%.4g %s" % (count / size, unit)
    return "%d B" % count
