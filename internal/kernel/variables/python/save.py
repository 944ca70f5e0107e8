"""Saving: each variable becomes a range of a file in the staging folder, or is named with the reason why not."""
import random
import signal
import threading
import time
import weakref

written = {}  # (format, type, hash) -> format and place, of large values
origins = {}  # name -> (token of the content, key of the cell after which it was first seen)
last = {"saved": {}, "unsaved": {}}  # of the newest save: hash by name, and reason by name


class Guard:
    """Limits the time of what runs code of the user, and the depth of its calls: too deep a recursion in C ends the process."""

    def __init__(self, seconds, each):
        self.until, self.each = time.monotonic() + seconds, each
        self.active = False
        self.signals = threading.current_thread() is threading.main_thread()

    def __enter__(self):
        self.depth = sys.getrecursionlimit()
        sys.setrecursionlimit(min(self.depth, 3000))
        if self.signals:
            self.timer = signal.getitimer(signal.ITIMER_REAL)
            self.handler = signal.signal(signal.SIGALRM, self.expire)
        return self

    def __exit__(self, *_):
        if self.signals:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL if self.handler is None else self.handler)
            signal.setitimer(signal.ITIMER_REAL, *self.timer)
        sys.setrecursionlimit(self.depth)

    def expire(self, *_):
        if self.active:
            raise Deadline()

    def call(self, function, *arguments):
        """Call a function. Every failure becomes Refused."""
        left = min(self.each, self.until - time.monotonic())
        if left <= 0:
            raise Refused("the time for the checkpoint was over")
        try:
            try:
                self.active = True
                if self.signals:
                    signal.setitimer(signal.ITIMER_REAL, left, 0.1)
                return function(*arguments)
            finally:
                self.active = False
        except Deadline:
            self.active = False
            raise Refused("it took longer than %.3g s" % left)
        except RecursionError:
            raise Refused("it is nested too deeply")
        except MemoryError:
            raise Refused("there is not enough memory")
        except (Exception, SystemExit, GeneratorExit) as error:
            raise Refused(reason(error))
        finally:
            if self.signals:
                signal.setitimer(signal.ITIMER_REAL, 0)


class Save:
    """One checkpoint."""

    def __init__(self, request, namespace, guard):
        self.staging, self.objects, self.key = request["staging"], request["objects"], request["key"]
        self.limits, self.namespace, self.guard = request["limits"], namespace, guard
        self.items = variables_of(namespace)
        self.entries, self.unsaved, self.files, self.notes = {}, {}, [], []
        self.pack, self.total, self.where = [], 0, 0

    def run(self):
        first, values = {}, []
        for name, value in self.items:
            kind = type(value)
            own = kind in (types.FunctionType,) or isinstance_of(value, type)
            if own and value.__module__ == "__main__" or kind is types.ModuleType:
                if id(value) in first:
                    self.entries[name] = {"kind": "same", "of": first[id(value)], "type": type_name(kind), "needs": [first[id(value)]]}
                    continue
                first[id(value)] = name
                self.attempt([name], self.save_module if kind is types.ModuleType else self.save_definition, name, value)
            else:
                values.append((name, value))
        groups, complete = Sharing([value for _, value in values]).groups()
        if not complete:
            self.notes.append("the variables have more than %d objects: variables that share objects will each have their own after loading" % MAX_VISITS)
        for group in groups:
            self.save_values([values[i] for i in group])
        self.drop_dependents()
        states = self.save_states()
        self.finish_pack()
        return self.report(states)

    def attempt(self, names, function, *arguments):
        """Save variables, or note why not."""
        try:
            self.guard.call(function, *arguments)
            return True
        except Refused as refused:
            for name in names:
                self.unsaved[name] = str(refused)
            return False

    def save_module(self, name, module):
        if sys.modules.get(module.__name__) is not module or module.__name__ == "__main__":
            raise Refused("it is a module that was not imported by its name")
        self.entries[name] = {"kind": "module", "module": module.__name__, "type": "module"}

    def save_definition(self, name, value):
        describe = describe_function if type(value) is types.FunctionType else lambda kind: describe_class(kind, self.namespace)
        recipe, state, used = describe(value)
        sink = Sink(self.staging, self.limits["variable_bytes"])
        encode(state, "pickle", sink)
        recipe["state"] = base64.b64encode(b"".join(sink.parts)).decode("ascii")
        if sink.name is not None:
            sink.drop()
            raise Refused("its default values are too large")
        data = json.dumps(recipe).encode("ascii")
        entry = {"kind": recipe["kind"], "type": type_name(type(value)), "hash": hashlib.sha256(data).hexdigest(), "format": "recipe",
                 "needs": sorted(n for n in used if n != name and n in self.namespace and not is_own(n, self.namespace[n]) and not n.startswith("__"))}
        entry["place"] = self.put(data)
        self.entries[name] = entry

    def save_values(self, members):
        """Save one variable, or several that share objects. If those cannot be saved together, each is saved alone."""
        names = [name for name, _ in members]
        if len(members) == 1 and self.attempt(names, self.save_value, *members[0]):
            return
        if len(members) > 1 and not self.attempt(names, self.save_group, members):
            for name, value in members:
                if self.attempt([name], self.save_value, name, value):
                    del self.unsaved[name]
                    self.notes.append("%s shares objects with %s; after loading it has its own" % (name, ", ".join(n for n in names if n != name)))

    def save_value(self, name, value):
        if size_of(value) > self.limits["variable_bytes"]:  # before its content is read
            raise Refused("it is larger than %s" % bytes_text(self.limits["variable_bytes"]))
        found, reduced = fingerprint(value)
        form = format_of(value)
        known = (form, found["type"], found["hash"]) if found["hash"] is not None and not reduced else None
        done, place = self.known_object(known)
        form = done or form
        if place is None:
            form, place = self.write(value, form)
            if known is not None and place["length"] > SMALL:
                written[known] = (form, place)
        entry = dict(found, kind="value", format=form, memory=size_of(value), place=place)
        if form == "npy" and not value.flags.writeable:
            entry["readonly"] = True
        self.entries[name] = entry

    def known_object(self, known):
        """Return in which format and where content is that an earlier checkpoint wrote."""
        form, place = written.get(known, (None, None))
        if place is None or not os.path.exists(os.path.join(self.objects, place["object"])):
            return None, None
        self.count(place["length"])
        return form, place

    def save_group(self, members):
        found = [(name, value, fingerprint(value)[0]) for name, value in members]
        _, place = self.write(dict(members), "pickle")
        for name, value, one in found:
            self.entries[name] = dict(one, kind="value", format="pickle", member=True, memory=size_of(value), place=place)

    def write(self, value, form):
        """Write a value. Return its format and place: parquet that does not return exactly the value is not used."""
        sink = Sink(self.staging, self.limits["variable_bytes"])
        try:
            encode(value, form, sink)
            sink.close()
        except BaseException as error:
            sink.drop()
            if form == "parquet" and isinstance(error, Exception):
                return self.write(value, "pickle")
            raise
        if sink.name is None:
            return form, self.put(b"".join(sink.parts))
        try:
            self.count(sink.length)
        except Refused:
            sink.drop()
            raise
        return form, self.place_file(sink)

    def place_file(self, sink):
        digest = sink.hash.hexdigest()
        if os.path.exists(os.path.join(self.objects, digest)) or any(f["sha256"] == digest for f in self.files):
            sink.drop()
        else:
            self.files.append({"name": sink.name, "sha256": digest, "bytes": sink.length})
        return {"object": digest, "offset": 0, "length": sink.length}

    def put(self, data):
        """Add few bytes to the file that small values share. Its hash is not known yet."""
        self.count(len(data))
        place = {"object": "", "offset": self.where, "length": len(data)}
        self.pack.append(data)
        self.where += len(data)
        return place

    def count(self, length):
        if self.total + length > self.limits["total_bytes"]:
            raise Refused("the checkpoint would be larger than %s" % bytes_text(self.limits["total_bytes"]))
        self.total += length

    def drop_dependents(self):
        """Drop definitions that use variables which are not saved, until nothing changes."""
        while True:
            lost = [(name, [n for n in entry.get("needs", []) if n not in self.entries]) for name, entry in self.entries.items()]
            lost = [(name, needs) for name, needs in lost if needs]
            if not lost:
                return
            for name, needs in lost:
                del self.entries[name]
                self.unsaved[name] = "it uses %s, which is not saved" % needs[0]

    def save_states(self):
        """Save the states of the random number generators."""
        states = {"random": list(random.getstate())}
        numpy = sys.modules.get("numpy")
        if numpy is not None and hasattr(numpy, "random"):
            state = numpy.random.get_state()
            if type(state) is tuple:
                states["numpy.random"] = [state[0], state[1].tolist(), int(state[2]), int(state[3]), float(state[4])]
            else:
                self.notes.append("the generator of numpy.random was replaced; its state is not saved")
        return {name: self.put(json.dumps(state).encode("ascii")) for name, state in states.items()}

    def finish_pack(self):
        data = b"".join(self.pack)
        self.digest = hashlib.sha256(data).hexdigest()
        if not os.path.exists(os.path.join(self.objects, self.digest)):
            with open_new(os.path.join(self.staging, "pack")) as file:
                file.write(data)
            self.files.append({"name": "pack", "sha256": self.digest, "bytes": len(data)})

    def report(self, states):
        for place in [entry["place"] for entry in self.entries.values() if "place" in entry] + list(states.values()):
            place["object"] = place["object"] or self.digest
        variables, unsaved = [], []
        for name, value in self.items:
            entry = self.entries.get(name)
            token = entry.get("hash") or entry.get("module") if entry else None
            since = self.origin(name, value, token)
            if entry:
                variables.append(dict(entry, name=name, since=since))
            else:
                unsaved.append({"name": name, "type": type_name(type(value)), "why": self.unsaved[name], "since": since})
        last["saved"] = {v["name"]: v.get("hash") for v in variables}
        last["unsaved"] = dict(self.unsaved)
        return {"key": self.key, "variables": variables, "unsaved": unsaved, "states": states, "files": self.files, "notes": self.notes, "environment": environment()}

    def origin(self, name, value, token):
        """Return the key of the cell after which this content was first seen under this name."""
        known = origins.get(name)
        if known is not None and known[0] == token and (token is not None or known[1](value)):
            return known[2]
        origins[name] = (token, same_as(value), self.key)
        return self.key


def same_as(value):
    """Return a function that tells whether an object is this one, and does not keep it alive."""
    try:
        reference = weakref.ref(value)
        return lambda other: reference() is other
    except TypeError:
        number = id(value)
        return lambda other: id(other) == number


packages = []  # of this Python, once they were listed


def installed():
    """Return the installed packages as name==version, by the names of their metadata folders: to read these takes 100 times as long."""
    found = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:  # an archive, or missing
            continue
        for entry in entries:
            stem, kind = os.path.splitext(entry)
            name, _, version = stem.partition("-")
            if kind in (".dist-info", ".egg-info") and version:
                found.setdefault(name.replace("_", "-"), version.split("-py")[0])
    return ["%s==%s" % one for one in sorted(found.items())]


def environment():
    """Return what a later kernel should have in common with this one."""
    import platform
    if not packages:
        packages.extend(installed())
    return {"language": "python", "version": platform.python_version(), "implementation": platform.python_implementation(), "executable": sys.executable,
            "platform": "%s-%s" % (platform.system().lower(), platform.machine()), "packages": packages, "path": [p for p in sys.path if type(p) is str], "cwd": os.getcwd(),
            "loaded": [name for name in ("numpy", "pandas") if name in sys.modules]}


def save(request, namespace):
    """Save all variables, and return the name and hash of the report in the staging folder."""
    with Guard(request["limits"]["seconds"], request["limits"]["variable_seconds"]) as guard:
        report = Save(request, namespace, guard).run()
    data = json.dumps(report).encode("ascii")
    with open_new(os.path.join(request["staging"], "report.json")) as file:
        file.write(data)
    return {"report": "report.json", "sha256": hashlib.sha256(data).hexdigest(), "variables": len(report["variables"]), "unsaved": len(report["unsaved"])}
