"""Verifies checkpoints in fresh processes: a process that never executes code of a session forks one for each verification.

It reads one request as JSON per line, and writes one answer as JSON per line.
"""
import select

MAX_ROUNDS = 20
CRASHED = "loading it ended the process, or took longer than %.3g s"


def serve():
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    sys.path[:] = [p for p in sys.path if p not in ("", ".")]
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = verify(request)
        except Exception as error:
            answer = {"error": reason(error)}
        answers.write(json.dumps(dict(answer, id=request["id"])) + "\n")
        answers.flush()


def verify(request):
    """Load a manifest again and again, without what failed, until everything loads. Return what failed, with reasons."""
    until = time.monotonic() + request["seconds"]
    for name in request["preload"]:
        try:
            importlib.import_module(name)
        except Exception:
            continue  # the verification fails with its reason
    failed, unstable = {}, set()
    for _ in range(MAX_ROUNDS):
        answer, at = in_child(dict(request, skip=sorted(failed)), until)
        if answer is None:
            if at is None or at in failed:
                return {"error": "the process that verifies ended before it loaded a variable"}
            if time.monotonic() > until:
                return {"error": "it took longer than %.3g s" % request["seconds"]}
            answer = {"failed": {at: CRASHED % request["variable_seconds"]}, "unstable": []}
        if "error" in answer:
            return answer
        unstable.update(answer["unstable"])
        if not answer["failed"]:
            return {"failed": failed, "unstable": sorted(unstable - set(failed))}
        failed.update(answer["failed"])
    return {"error": "variables fail to load in each of %d tries" % MAX_ROUNDS}


def in_child(request, until):
    """Verify in a forked process. Return its answer, or None and the variable at which it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            os.setsid()
            signal.setitimer(signal.ITIMER_REAL, max(1, until - time.monotonic()) + 5)  # also if this process is killed
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(os.open(os.devnull, os.O_RDWR), 2)
            answer = child_verify(request, writer)
            os.write(writer, b"\n")
            with os.fdopen(writer, "wb") as out:
                out.write(b"=" + json.dumps(answer).encode("ascii") + b"\n")
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    data = read_until(reader, until, request["variable_seconds"])
    try:
        os.killpg(child, signal.SIGKILL)
    except OSError:
        pass  # it has ended, or is not yet the leader of its group
    try:
        os.kill(child, signal.SIGKILL)
    except OSError:
        pass
    os.waitpid(child, 0)
    lines = data.decode("utf-8", "replace").split("\n")
    if len(lines) > 1 and lines[-2].startswith("="):
        return json.loads(lines[-2][1:]), None
    names = [json.loads(line[1:]) for line in lines[:-1] if line.startswith("+")]
    return None, names[-1] if names else None


def child_verify(request, writer):
    """Load a manifest into a module __main__ that is empty otherwise."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    try:
        loading = Load(request, main.__dict__)
        loading.progress = lambda name: os.write(writer, b"+" + json.dumps(name).encode("ascii") + b"\n")
        loading.enter(loading.manifest["environment"])
        loading.load_all()
        needs = {v["name"]: v.get("needs", []) for v in loading.variables}
        have = {v["name"] for v in loading.variables} - set(loading.failed)
        for name, needed in needs.items():
            lost = [n for n in needed if n not in have]
            if name in have and lost:
                loading.failed[name] = "it uses %s, which was not restored" % lost[0]
        if not loading.failed:
            loading.load_states()
        return {"failed": loading.failed, "unstable": loading.unstable}
    except Refused as error:
        return {"error": reason(error)}


def read_until(reader, until, each):
    """Return what a pipe yields until it ends, the time is over, or it yields nothing for too long."""
    parts = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(0, min(each, until - time.monotonic())))
        part = os.read(reader, 1 << 16) if ready else b""
        if not part:
            os.close(reader)
            return b"".join(parts)
        parts.append(part)
