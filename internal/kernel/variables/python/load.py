"""Loading: a manifest that pawl wrote becomes variables, all or none."""
import random

MAX_WARNINGS = 20


class Load:
    """Loads the variables of one manifest into a namespace."""

    def __init__(self, request, namespace):
        self.objects, self.namespace = request["objects"], namespace
        with open(request["manifest"], "rb") as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != request["sha256"]:
            raise Refused("the manifest is not the one that was saved")
        self.manifest = json.loads(data.decode("utf-8"))
        self.skip = set(request.get("skip", []))
        self.variables = [v for v in self.manifest["variables"] if v["name"] not in self.skip]
        self.cache = {}  # object -> bytes, of objects with several variables
        self.groups = {}  # place -> variables of a pickle with several
        self.failed, self.unstable = {}, list(request.get("unstable", []))
        self.progress = lambda name: None

    def into_kernel(self, warnings):
        """Load everything or nothing. Add warnings."""
        before, path, folder = dict(self.namespace), list(sys.path), os.getcwd()
        try:
            warnings += self.enter(self.manifest["environment"])
            self.load_all()
            if self.failed:
                name, why = next(iter(self.failed.items()))
                raise Refused("%s: %s" % (name, why))
            self.load_states()
        except BaseException:
            for name in set(self.namespace) - set(before):
                del self.namespace[name]
            self.namespace.update(before)
            sys.path[:] = path
            os.chdir(folder)
            raise

    def enter(self, was):
        """Use the folder and the import path of the kernel that was saved."""
        sys.path.extend(p for p in was["path"] if p not in sys.path)
        try:
            os.chdir(was["cwd"])
        except OSError:
            return ["the working folder %s is missing" % was["cwd"]]
        return []

    def load_all(self):
        """Load variables in their order. What needs a name that comes later is tried again."""
        waiting = self.variables
        while waiting:
            again = []
            for entry in waiting:
                name = entry["name"]
                self.progress(name)
                try:
                    self.namespace[name] = self.load(entry)
                except (Missing, NameError) as error:
                    again.append(entry)
                    self.failed[name] = reason(error)
                except Exception as error:
                    self.failed[name] = reason(error)
                else:
                    self.failed.pop(name, None)
            if len(again) == len(waiting):
                break
            waiting = again
        order = {v["name"]: self.namespace.pop(v["name"]) for v in self.variables if v["name"] in self.namespace}
        self.namespace.update(order)

    def load(self, entry):
        """Return the value of one variable."""
        if entry["kind"] == "module":
            importlib.import_module(entry["module"])
            return sys.modules[entry["module"]]
        if entry["kind"] == "same":
            if entry["of"] not in self.namespace:
                raise Missing("it needs %s, which was not restored" % entry["of"])
            return self.namespace[entry["of"]]
        data = self.bytes_of(entry["place"])
        if entry["kind"] in ("function", "class"):
            recipe = json.loads(bytes(data).decode("ascii"))
            if entry["kind"] == "class":
                return make_class(recipe, self.namespace)
            return make_function(recipe, decode(base64.b64decode(recipe["state"]), "pickle", self.namespace), self.namespace)
        value = self.member(entry, data) if entry.get("member") else decode(data, entry["format"], self.namespace)
        if entry.get("readonly"):
            value.flags.writeable = False
        self.check(entry, value)
        return value

    def member(self, entry, data):
        """Return a variable of a pickle that several share."""
        place = (entry["place"]["object"], entry["place"]["offset"])
        if place not in self.groups:
            self.groups[place] = decode(data, "pickle", self.namespace)
        return self.groups[place][entry["name"]]

    def check(self, entry, value):
        """Refuse a value that is not what was saved."""
        found, reduced = fingerprint(value)
        for key in ("type", "shape", "dtype"):
            if (found.get(key) or None) != entry.get(key):  # an empty shape is left out
                raise Refused("it is not what was saved: its %s is %s instead of %s" % (key, found.get(key), entry.get(key)))
        if entry.get("hash") is None or entry["name"] in self.unstable or found["hash"] == entry["hash"]:
            return
        if reduced and not self.is_stable(value, found["hash"]):
            self.unstable.append(entry["name"])
            return
        raise Refused("it is not what was saved: its content differs")

    def is_stable(self, value, digest):
        """Report whether values of this type have the same hash after each loading."""
        try:
            again = Unpickler(pickle.dumps(value, 4), self.namespace).load()
        except Exception:
            return True
        return fingerprint(again)[0]["hash"] == digest

    def bytes_of(self, place):
        """Return the bytes at a place, after the hash of their file was compared."""
        name = place["object"]
        data = self.cache.get(name)
        if data is None:
            try:
                with open(os.path.join(self.objects, name), "rb") as file:
                    data = file.read()
            except OSError as error:
                raise Refused("its file cannot be read: %s" % error.strerror)
            if hashlib.sha256(data).hexdigest() != name:
                raise Refused("its file is damaged: the content does not have the hash that was recorded")
            if place["offset"] or place["length"] != len(data):
                self.cache[name] = data
        return memoryview(data)[place["offset"]:place["offset"] + place["length"]]

    def load_states(self):
        """Set the random number generators as they were."""
        for name, place in self.manifest["states"].items():
            state = json.loads(bytes(self.bytes_of(place)).decode("ascii"))
            if name == "random":
                random.setstate((state[0], tuple(state[1]), state[2]))
            elif name == "numpy.random":
                importlib.import_module("numpy").random.set_state(tuple(state))


def drift(was, now):
    """Return what differs between two environments, as sentences."""
    found = []
    for key in ("version", "implementation", "platform"):
        if was[key] != now[key]:
            found.append("%s was %s and is %s" % ({"version": "Python"}.get(key, key), was[key], now[key]))
    have = dict(p.split("==", 1) for p in now["packages"])
    changed = []
    for package in was["packages"]:
        name, version = package.split("==", 1)
        if have.get(name) != version:
            changed.append("package %s was %s and is %s" % (name, version, have.get(name, "missing")))
    if len(changed) > MAX_WARNINGS:
        changed[MAX_WARNINGS:] = ["%d more packages changed" % (len(changed) - MAX_WARNINGS)]
    return found + changed


def load(request, namespace):
    """Load a manifest into the kernel."""
    loading = Load(request, namespace)
    warnings = drift(loading.manifest["environment"], environment())
    if request["strict"] and warnings:
        return {"drift": warnings}
    loading.into_kernel(warnings)
    for entry in loading.variables:
        origins[entry["name"]] = (entry.get("hash") or entry.get("module"), same_as(namespace[entry["name"]]), entry["since"])
    last["saved"] = {v["name"]: v.get("hash") for v in loading.variables}
    return {"loaded": list(last["saved"]), "warnings": warnings}
