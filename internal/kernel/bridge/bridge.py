"""The kernel of pawl's driver "python": executes cells in one namespace and reports on pipes.

It reads requests from REQUESTS and writes messages to MESSAGES, each a JSON object on one line. Messages are those of pawl's package
kernel, with four more kinds: ready, begun, counted and ended. sys.stdout and sys.stderr write messages too, so that text keeps its
order among displays and is attributed to the cell of its thread. What goes to the descriptors 1 and 2 directly, from native code and
from child processes, arrives in two more pipes, which pawl reads.

Nothing is buffered here: whatever a cell printed before the process is killed has reached pawl's pipe.
"""
import sys

import _ast
import _thread
import builtins
import faulthandler
import fcntl
import io
import json
import os
import signal
import termios
import time
import types
from json.encoder import encode_basestring_ascii as quote

REQUESTS, MESSAGES, STACKS = 3, 4, 5
BRIDGE = "<pawl bridge>"  # file name of this program in tracebacks
NOTHING = bytes(4)        # FIONREAD of an empty pipe
SETTLE_SECONDS = 60  # pawl reads them at once, unless the machine is busy


class Kernel:
    """What the kernel is doing."""

    def __init__(self):
        self.cell = ""          # the running cell, or the last one that is not pawl's own
        self.phase = "idle"     # idle, begun, running or ended
        self.count = 0          # cells so far
        self.interrupted = False
        self.flags = 0          # of "from __future__" in earlier cells
        self.threads = {}       # thread → cell that started it
        self.process = os.getpid()
        self.displays = 0
        self.library = None     # of C, once a cell uses ctypes

    def cell_of_thread(self):
        return self.threads.get(_thread.get_ident(), self.cell)


class Channel:
    """The pipe to pawl."""

    def __init__(self):
        self.lock = _thread.RLock()
        self.lines = []
        self.busy = False
        self.torn = False
        self.outputs = [os.dup(1), os.dup(2)]  # a cell may redirect the descriptors 1 and 2

    def send(self, line):
        """Writes a line. Called again by a signal handler or a finalizer meanwhile, it writes that line after this one."""
        with self.lock:
            self.lines.append(line)
            if self.busy:
                return
            self.busy = True
            try:
                while self.lines:
                    self.settle()
                    self.write(self.lines.pop(0))
            finally:
                self.busy = False
        if kernel.interrupted and kernel.phase == "running" and _thread.get_ident() == main_thread:
            kernel.interrupted = False
            raise KeyboardInterrupt

    def write(self, line):
        """Writes all of a line. An exception of a cell's own signal handler can tear it; the next line then starts afresh."""
        rest = memoryview(b"\n" + line if self.torn else line)
        self.torn = True
        while rest:
            rest = rest[os.write(MESSAGES, rest):]
        self.torn = False

    def settle(self):
        """Waits until pawl has read what the descriptors 1 and 2 got so far: that came before the next message."""
        deadline = None
        for fd in self.outputs:
            while fcntl.ioctl(fd, termios.FIONREAD, NOTHING) != NOTHING:
                now = time.monotonic()
                deadline = deadline or now + SETTLE_SECONDS
                if now > deadline:
                    return
                time.sleep(0.0002)

    def send_object(self, **message):
        self.send(to_json(message).encode() + b"\n")


def to_json(value):
    """JSON without NaN, which JSON lacks, and with the repr of whatever has no JSON form."""
    try:
        return json.dumps(value, allow_nan=False, default=repr)
    except (ValueError, TypeError):
        return json.dumps(plain(value), allow_nan=False)


def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return repr(value)
    return value if isinstance(value, (str, int, float, type(None))) else repr(value)


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of cells."""

    encoding, errors = "utf-8", "backslashreplace"
    mode, closed, line_buffering, write_through = "w", False, False, True

    def __init__(self, name, fd, raw):
        self.name = "<%s>" % name
        self.fd = fd
        self.buffer = raw.buffer
        self.start = '{"kind":"stream","stream":"%s","cell":' % name

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not " + type(text).__name__)
        if not text:
            return 0
        if os.getpid() != kernel.process:  # a fork: only its parent may write messages
            os.write(self.fd, text.encode("utf-8", "backslashreplace"))
        else:
            line = self.start + quote(kernel.cell_of_thread()) + ',"text":' + quote(str(text)) + "}\n"
            channel.send(line.encode())
        return len(text)

    def fileno(self):
        return self.fd

    def writable(self):
        return True

    def isatty(self):
        return False

    def flush(self):
        pass

    def close(self):
        pass

    def reconfigure(self, **options):
        pass


# Displays.

FORMATS = [
    ("text/html", "_repr_html_"), ("text/markdown", "_repr_markdown_"), ("text/latex", "_repr_latex_"),
    ("image/svg+xml", "_repr_svg_"), ("image/png", "_repr_png_"), ("image/jpeg", "_repr_jpeg_"),
    ("application/pdf", "_repr_pdf_"), ("application/json", "_repr_json_"), ("application/javascript", "_repr_javascript_"),
]


def represent(value):
    """Returns the representations of a value by MIME type, and their metadata."""
    data, metadata = {"text/plain": repr(value)}, {}
    bundle = formatted(value, "_repr_mimebundle_", include=None, exclude=None)
    if bundle is not None:
        split(bundle, data.update, metadata.update)
    for mime, method in FORMATS:
        if mime in data:
            continue
        each = formatted(value, method)
        if each is not None:
            split(each, lambda d: data.update({mime: d}), lambda m: metadata.update({mime: m}))
    return encoded(data), metadata


def formatted(value, method, **arguments):
    """Calls a _repr_ method, if the value has it. An error in it is printed, and the representation left out."""
    if isinstance(value, type):
        return None
    try:
        if callable(getattr(value, "_pawl_answers_to_every_name_", None)):  # such as unittest.mock.Mock
            return None
        call = getattr(value, method, None)
        return call(**arguments) if callable(call) else None
    except Exception as error:
        sys.stderr.write("\n".join(traceback_of(error)) + "\n")
        return None


def split(result, set_data, set_metadata):
    """A _repr_ method returns data, or data and metadata."""
    if isinstance(result, tuple) and len(result) == 2:
        set_metadata(result[1])
        result = result[0]
    set_data(result)


def encoded(data):
    """Binary data is base64 in messages."""
    import binascii
    return {
        str(mime): binascii.b2a_base64(each, newline=False).decode() if isinstance(each, (bytes, bytearray, memoryview)) else each
        for mime, each in data.items()
    }


def send_display(kind, data, metadata, display_id=None, **rest):
    if os.getpid() != kernel.process:
        print(data.get("text/plain", ""))
        return
    if display_id is not None:
        rest["display_id"] = str(display_id)
    channel.send_object(kind=kind, cell=kernel.cell_of_thread(), data=data, metadata=metadata, **rest)


class DisplayHandle:
    """Updates the displays with one id."""

    def __init__(self, display_id):
        self.display_id = display_id

    def __repr__(self):
        return "<DisplayHandle display_id=%s>" % self.display_id

    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        update_display(value, display_id=self.display_id, **options)


def display(*values, display_id=None, metadata=None, raw=False, include=None, exclude=None, clear=False, **_):
    """Shows values in the output of the cell. With display_id (a string, or True for a new one) returns a handle that updates them."""
    if clear:
        clear_output(wait=True)
    if display_id is True:
        kernel.displays += 1
        display_id = "pawl-%d-%d" % (kernel.process, kernel.displays)
    show("display", values, display_id, metadata, raw, include, exclude)
    return DisplayHandle(display_id) if display_id is not None else None


def update_display(value, *, display_id, metadata=None, raw=False, include=None, exclude=None, **_):
    """Replaces what the displays with this id show."""
    show("update", [value], display_id, metadata, raw, include, exclude)


def show(kind, values, display_id, metadata, raw, include, exclude):
    for value in values:
        data, own = (encoded(value), {}) if raw else represent(value)
        own.update(metadata or {})
        data = {mime: each for mime, each in data.items() if (not include or mime in include) and mime not in (exclude or ())}
        send_display(kind, data, own, display_id)


def clear_output(wait=False):
    """Removes the output of the cell; with wait, when the next output comes."""
    if os.getpid() == kernel.process:
        channel.send_object(kind="clear", cell=kernel.cell_of_thread(), wait=bool(wait))


def refuse_input(prompt=""):
    raise RuntimeError("input() is not available: nobody is there to answer a cell; set a variable in an earlier cell instead")


# Cells.

def execute(request):
    cell, silent = request["cell"], request.get("silent", False)
    before, kernel.cell, kernel.phase = kernel.cell, cell, "begun"
    kernel.count += not silent
    signal.signal(signal.SIGINT, interrupt)  # an earlier cell may have replaced it
    channel.send_object(kind="begun", cell=cell, execution_count=0 if silent else kernel.count)
    status = "ok"
    try:
        value = run(request["code"], "<cell %s>" % cell)
        if value is not None and not silent:
            builtins._ = value
            send_display("result", *represent(value), execution_count=kernel.count)
    except BaseException as error:
        kernel.phase = "ended"
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
        report = {"ename": type(error).__name__, "evalue": text_of(error), "traceback": traceback_of(error)}
        if os.getpid() == kernel.process:
            channel.send_object(kind="error", cell=cell, error=report)
        else:
            print("\n".join(report["traceback"]), file=sys.stderr)
    kernel.phase, kernel.interrupted = "ended", False
    if os.getpid() != kernel.process:  # a fork that came back from the cell
        os._exit(0 if status == "ok" else 1)
    flush_native()
    channel.send_object(kind="ended", cell=cell, status=status, execution_count=0 if silent else kernel.count)
    kernel.phase = "idle"
    if silent:
        kernel.cell = before


def run(source, name):
    """Executes the source of a cell, and returns the value of its last expression."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    try:
        tree = compile(source, name, "exec", _ast.PyCF_ONLY_AST | kernel.flags, True)
        last = tree.body.pop().value if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
        code = compile(tree, name, "exec", kernel.flags, True)
        value = compile(_ast.Expression(last), name, "eval", kernel.flags | code.co_flags & FUTURES, True) if last else None
    except SyntaxError as error:
        explain(error, source)
        raise
    kernel.flags |= code.co_flags & FUTURES
    kernel.phase = "running"
    if kernel.interrupted:
        kernel.interrupted = False
        raise KeyboardInterrupt
    run_code(exec, code)
    result = run_code(eval, value) if value else None
    return None if source.rstrip().endswith(";") else result


def run_code(function, code):
    """The only frame below which an interrupt raises KeyboardInterrupt."""
    return function(code, main.__dict__)


def interrupt(_, frame):
    """Handles SIGINT: it reaches a running cell, and neither the bridge itself nor a message that is half written."""
    if kernel.phase == "begun":
        kernel.interrupted = True
    elif kernel.phase == "running":
        while frame is not None and frame.f_code not in (run_code.__code__, Channel.send.__code__, represent.__code__):
            frame = frame.f_back
        if frame is not None and frame.f_code is Channel.send.__code__:
            kernel.interrupted = True
        elif frame is not None:
            raise KeyboardInterrupt


def explain(error, source):
    """Says which lines only IPython understands."""
    lines = source.splitlines()
    line = lines[error.lineno - 1].strip() if error.lineno and error.lineno <= len(lines) else ""
    if source.lstrip().startswith("%%"):
        line = source.lstrip().splitlines()[0]
    command = line.partition("=")[2].lstrip() or line  # such as files = !ls
    if line.startswith(("%", "!", "?")) or line.endswith("?") or command.startswith(("%", "!")):
        error.msg = "`%s` is a command of IPython, and the driver \"python\" runs plain Python: use the driver \"jupyter\"" % line
    elif "'await' outside function" in str(error.msg):
        error.msg += ": the driver \"python\" has no event loop; use asyncio.run, or the driver \"jupyter\""


def text_of(error):
    try:
        return str(error)
    except Exception:
        return "<error without a text>"


def traceback_of(error):
    """Returns the lines of a traceback, without the frames of the bridge."""
    try:
        report = traceback.TracebackException.from_exception(error)
        hide_bridge(report, set())
        return "".join(report.format()).rstrip("\n").split("\n")
    except Exception:
        return ["%s: %s" % (type(error).__name__, text_of(error))]


def hide_bridge(report, seen):
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    if report.stack is not None:
        report.stack = traceback.StackSummary.from_list([frame for frame in report.stack if frame.filename != BRIDGE])
    for inner in [report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())]:
        hide_bridge(inner, seen)


def flush_native():
    """Flushes what native code has printed. Only extension modules print that way, and ctypes is there to reach them."""
    ctypes = sys.modules.get("ctypes")
    try:
        if ctypes is not None:
            kernel.library = kernel.library or ctypes.CDLL(None)
            kernel.library.fflush(None)
    except Exception:  # no such function
        pass


def remember_threads(start):
    """Wraps a function that starts threads: a thread belongs to the cell of the thread that starts it."""
    def started(function, *arguments, **options):
        cell = kernel.cell_of_thread()

        def body(*a, **k):
            kernel.threads[_thread.get_ident()] = cell
            try:
                return function(*a, **k)
            finally:
                kernel.threads.pop(_thread.get_ident(), None)
        return start(body, *arguments, **options)
    return started


def wrap_threads():
    for name in ["start_new_thread", "start_new", "start_joinable_thread"]:
        start = getattr(_thread, name, None)
        if start is not None:
            wrapped = remember_threads(start)
            setattr(_thread, name, wrapped)
            threading = sys.modules.get("threading")
            if threading is not None and hasattr(threading, "_" + name):
                setattr(threading, "_" + name, wrapped)


kernel, channel = Kernel(), Channel()
main_thread = _thread.get_ident()

empty = os.open(os.devnull, os.O_RDONLY)
os.dup2(empty, 0)  # this program came from there
os.close(empty)
for each in [REQUESTS, MESSAGES, STACKS]:
    os.set_inheritable(each, False)
os.set_blocking(STACKS, False)  # a signal handler must not wait for pawl
signal.signal(signal.SIGINT, interrupt)
faulthandler.enable(file=2)
# all_threads=True would let this handler read frames of threads that run, which can crash the kernel. The other handler has the global
# interpreter lock, so that they do not run, but it waits for native code of the main thread.
faulthandler.register(signal.SIGUSR1, file=STACKS, all_threads=False, chain=False)
signal.signal(signal.SIGUSR2, lambda *_: faulthandler.dump_traceback(STACKS, all_threads=True))
wrap_threads()

# Cells see a module __main__ of their own.
main = types.ModuleType("__main__")
main.__builtins__ = builtins
sys.modules["__main__"] = main
sys.argv = [""]
sys.stdout, sys.stderr = Stream("stdout", 1, sys.__stdout__), Stream("stderr", 2, sys.__stderr__)
builtins.display, builtins.update_display, builtins.clear_output = display, update_display, clear_output
builtins.input = refuse_input

channel.send_object(kind="ready", version="%d.%d.%d" % sys.version_info[:3], implementation=sys.implementation.name)

# These take time, and only cells need them.
import __future__
import linecache
import traceback
FUTURES = 0
for each in __future__.all_feature_names:
    FUTURES |= getattr(__future__, each).compiler_flag

sys.path[:0] = FOLDER  # until now no module came from the working folder

with open(REQUESTS, "rb") as requests:
    for each in requests:
        execute(json.loads(each))
