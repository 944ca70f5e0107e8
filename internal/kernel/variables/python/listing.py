"""Lists variables without saving them, and answers pawl's cells."""
MAX_LISTED = 10000


def listing(request, namespace):
    """Return name, type, shape, size, hash of each variable, and whether the newest checkpoint has it as it is now."""
    found, items = [], variables_of(namespace)
    with Guard(request["limits"]["seconds"], request["limits"]["variable_seconds"]) as guard:
        for name, value in items[:MAX_LISTED]:
            entry = {"name": name, "type": type_name(type(value)), "bytes": 0}
            try:
                entry.update(guard.call(lambda: dict(fingerprint(value)[0], bytes=size_of(value))))
            except Refused:
                entry["hash"] = None
            if type(value) is types.FunctionType or isinstance_of(value, (type, types.ModuleType)):
                entry["hash"] = last["saved"].get(name)
            entry["saved"] = name in last["saved"] and last["saved"][name] == entry.get("hash")
            if name in last["unsaved"]:
                entry["why"] = last["unsaved"][name]
            found.append(entry)
    return {"variables": found, "more": len(items) - len(found)}


def run(argument, namespace):
    """Do what the argument says, base64 of JSON, and publish the result. Errors are results, too."""
    request = {}
    try:
        request = json.loads(base64.b64decode(argument).decode("utf-8"))
        result = {"save": save, "load": load, "list": listing}[request["action"]](request, namespace)
    except BaseException as error:
        result = {"error": reason(error)}
        if isinstance(error, KeyboardInterrupt):
            result = {"error": "interrupted"}
    publish(dict(result, action=request.get("action", ""), id=request.get("id", "")))


def install():
    """Make this module known in the kernel."""
    module = types.ModuleType("_pawl_variables")
    module.__dict__.update(globals())
    sys.modules["_pawl_variables"] = module
