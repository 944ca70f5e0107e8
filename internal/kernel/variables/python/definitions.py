"""Functions and classes that were defined in cells. They are restored from the source of their cell, where that is exact.

A function is made from the code object that its cell compiles to, and from its saved defaults: no code of the cell is executed. A class
is made by executing its definition, so only definitions are accepted that call nothing but harmless functions of the standard library.
"""
import ast
import dis
import linecache

SAFE_MODULES = frozenset(["abc", "collections", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "operator", "pathlib", "re", "_sre", "typing"])
SAFE_BUILTINS = frozenset(["abs", "len", "max", "min", "ord", "chr", "round", "sorted", "sum", "super", "repr", "hash", "divmod", "pow"])
PROPERTY_PARTS = frozenset(["setter", "getter", "deleter"])
NOT_COMPARED = frozenset(["__dict__", "__weakref__", "__doc__", "__module__", "__static_attributes__", "__firstlineno__", "__abstractmethods__", "_abc_impl", "__slotnames__", "__annotations_cache__", "__annotate_func__"])

on_disk = {}  # name of a file in the cache of sources -> whether it exists
compiled = {}  # (file, flags) -> (source, list of code objects, the same list with each statement compiled by itself, syntax tree)


def sources():
    """Return the names of the files that are cells: they are in memory only."""
    for file, entry in list(linecache.cache.items()):
        if file not in on_disk and len(entry) == 4:
            on_disk[file] = entry[1] is not None and os.path.exists(file)
    return [file for file in linecache.cache if on_disk.get(file) is False]


def text_of(file):
    """Return the source of a cell."""
    entry = linecache.cache.get(file)
    if entry is None or len(entry) != 4:
        raise Refused("the source of its cell is not known")
    return "".join(entry[2])


def compile_cell(text, file, flags):
    """Compile the source of a cell. Return all code objects in it, the same with each statement compiled by itself, and the syntax tree.

    IPython compiles statements by themselves. Code that uses a module differs if its import is compiled with it, from Python 3.11 on.
    """
    known = compiled.get((file, flags))
    if known is not None and known[0] == text:
        return known[1:]
    futures = flags & FUTURE_FLAGS | getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
    try:
        tree = compile(text, file, "exec", futures | ast.PyCF_ONLY_AST, True)
        codes = code_objects(compile(tree, file, "exec", futures, True))
        single = codes[:1]
        for node in tree.body:
            code = compile(ast.Module([node], []), file, "exec", futures | codes[0].co_flags & FUTURE_FLAGS, True)
            single += code_objects(code)[1:]
    except SyntaxError:
        raise Refused("the source of its cell is not Python")
    if len(single) != len(codes):
        single = codes
    compiled[file, flags] = (text, codes, single, tree)
    return codes, single, tree


def future_flags():
    import __future__
    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


FUTURE_FLAGS = future_flags()


def code_objects(code):
    """Return the code objects within a code object, outer ones first."""
    found, stack = [], [code]
    while stack:
        one = stack.pop()
        found.append(one)
        stack.extend(c for c in reversed(one.co_consts) if type(c) is types.CodeType)
    return found


def globals_of(code):
    """Return the names of the globals that a function uses."""
    return {i.argval for one in code_objects(code) for i in dis.get_instructions(one) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


def register(text):
    """Make the source of a cell of another kernel known for tracebacks, and for the next checkpoint. Return its file name."""
    file = "<restored cell %s>" % hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    return file


def describe_function(function):
    """Return how a function of a cell is made again: source of the cell, place in it, and state."""
    if function.__closure__:
        raise Refused("it uses variables of the function that made it")
    code = function.__code__
    file, flags = code.co_filename, code.co_flags
    text = text_of(file)
    codes, single, _ = compile_cell(text, file, flags & FUTURE_FLAGS)
    places = [i for i, both in enumerate(zip(codes, single)) if code in both]
    if not places:
        raise Refused("its source is not exactly what its cell says")
    state = {"defaults": function.__defaults__, "kwdefaults": function.__kwdefaults__, "attributes": dict(function.__dict__),
             "annotations": dict(function.__annotations__), "doc": function.__doc__, "name": function.__name__, "qualname": function.__qualname__}
    recipe = {"kind": "function", "flags": flags & FUTURE_FLAGS, "text": text, "place": places[0], "code": code.co_name, "line": code.co_firstlineno}
    return recipe, state, globals_of(code)


def make_function(recipe, state, namespace):
    """Make a function again. It uses namespace as its globals."""
    codes, _, _ = compile_cell(recipe["text"], register(recipe["text"]), recipe["flags"])
    place = recipe["place"]
    if place >= len(codes) or (codes[place].co_name, codes[place].co_firstlineno) != (recipe["code"], recipe["line"]):
        raise Refused("this Python compiles its cell to other functions")
    made = types.FunctionType(codes[place], namespace, state["name"], state["defaults"])
    made.__kwdefaults__, made.__annotations__, made.__doc__ = state["kwdefaults"], state["annotations"], state["doc"]
    made.__qualname__, made.__module__ = state["qualname"], "__main__"
    made.__dict__.update(state["attributes"])
    return made


def describe_class(kind, namespace):
    """Return how a class of a cell is made again: its definition, the names that it uses, and what it looks like."""
    if kind.__qualname__ != kind.__name__:
        raise Refused("it is defined within a function or another class")
    found = None  # the newest definition; if it is the wrong one, the verification finds out
    for file in sources():
        try:
            text = text_of(file)
            tree = compile_cell(text, file, 0)[-1]
        except Refused:
            continue
        for node in tree.body:
            if defines(node, kind.__name__) and agrees(node, file, kind):
                found = (file, text, node)
    if found is None:
        raise Refused("the source of its definition is not known")
    file, text, node = found
    check_definition(node, namespace)
    lines = text.splitlines(True)
    first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", [])])
    source = "\n" * (first - 1) + "".join(lines[first - 1:node.end_lineno])
    code = compile_cell(source, file + "#" + kind.__name__, 0)[0][0]
    recipe = {"kind": "class", "text": source, "name": kind.__name__, "looks": looks_of(kind), "python": list(sys.version_info[:2])}
    return recipe, {}, globals_of(code)


def defines(node, name):
    """Report whether a statement defines a class with a name: by class, or as in P = namedtuple(...)."""
    if isinstance(node, ast.Assign):
        return len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name and isinstance(node.value, ast.Call)
    return isinstance(node, ast.ClassDef) and node.name == name


def agrees(node, file, kind):
    """Report whether the methods of a class are in the definition."""
    own = [f for f in map(plain_function, vars(kind).values())
           if f is not None and f.__module__ == "__main__" and f.__qualname__.startswith(kind.__name__ + ".") and f.__code__.co_filename in linecache.cache]
    return all(f.__code__.co_filename == file and node.lineno <= f.__code__.co_firstlineno <= node.end_lineno for f in own)


def plain_function(value):
    """Return the function in an attribute of a class, if there is one."""
    if isinstance_of(value, (staticmethod, classmethod)):
        value = value.__func__
    elif isinstance_of(value, property):
        value = value.fget
    return value if type(value) is types.FunctionType else None


def check_definition(node, namespace):
    """Refuse a definition that would call code which may have effects."""
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stack.extend(one.decorator_list + one.args.defaults + [d for d in one.args.kw_defaults if d is not None])
            for decorator in one.decorator_list:
                check_called(decorator, namespace)
        elif isinstance(one, ast.Lambda):
            continue
        else:
            if isinstance(one, ast.Call):
                check_called(one.func, namespace)
            if isinstance(one, ast.ClassDef):
                for decorator in one.decorator_list:
                    check_called(decorator, namespace)
            stack.extend(ast.iter_child_nodes(one))


def check_called(node, namespace):
    """Refuse a call of anything but harmless functions of the standard library."""
    if isinstance(node, ast.Call):
        node = node.func
    path = []
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    name = getattr(node, "id", "")
    found = namespace.get(name, getattr(builtins, name, None)) if name else None
    if found is None and path and path[-1] in PROPERTY_PARTS:
        return
    for part in path:
        found = getattr(found, part, None) if isinstance_of(found, (types.ModuleType, type)) else None
    module = getattr(found, "__module__", None) if isinstance_of(found, (type, types.FunctionType, types.BuiltinFunctionType)) else None
    if module in SAFE_MODULES or module == "builtins" and (isinstance_of(found, type) or found.__name__ in SAFE_BUILTINS):
        return
    raise Refused("its definition calls %s" % (".".join([name] + path) or "a function"))


def looks_of(kind):
    """Return what a class looks like: attributes by name, and a hash of each whose content has one."""
    looks = {"": [type_name(type(kind))] + [type_name(base) for base in kind.__bases__]}
    for name, value in vars(kind).items():
        if name in NOT_COMPARED or type(name) is not str:
            continue
        function = plain_function(value)
        digest = Digest()
        try:
            digest.add(code_facts(by_itself(function.__code__)) + (function.__defaults__,) if function is not None else value)
            looks[name] = [type_name(type(value)), digest.hash.hexdigest()]
        except Exception:
            looks[name] = [type_name(type(value))]
    return looks


def by_itself(code):
    """Return the code object that the statement with this one compiles to by itself, as when the class is made again."""
    try:
        codes, single, _ = compile_cell(text_of(code.co_filename), code.co_filename, code.co_flags & FUTURE_FLAGS)
    except Refused:
        return code
    return next((s for c, s in zip(codes, single) if c == code), code)


def code_facts(code):
    """Return what a code object does, without where it is."""
    consts = tuple(code_facts(c) if type(c) is types.CodeType else c for c in code.co_consts)
    return (code.co_name, code.co_code, consts, code.co_names, code.co_varnames, code.co_flags)


def make_class(recipe, namespace):
    """Make a class again in namespace, which is that of its methods."""
    exec(compile(recipe["text"], register(recipe["text"]), "exec", 0, True), namespace)
    made = namespace[recipe["name"]]
    looks, was = looks_of(made), recipe["looks"]
    changed = sorted(name for name in set(looks) | set(was) if looks.get(name) != was.get(name))
    if changed and list(sys.version_info[:2]) == recipe["python"]:
        raise Refused("it was changed after its definition: %s" % (changed[0] or "its bases"))
    return made
