"""A kernel for tests. It reads cells as JSON strings, one per line, and answers each with a line: displays, error, stdout.

Without an argument it executes the cells itself, like the bridge. With the argument ipykernel it starts a Jupyter kernel for them.
"""
import builtins
import contextlib
import io
import json
import linecache
import sys
import traceback
import types


def plain():
    answers = sys.stdout
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    displays = []
    builtins.display = lambda bundle, raw: displays.append(bundle)
    for number, line in enumerate(sys.stdin):
        code, file = json.loads(line), "<cell %d>" % number
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
        del displays[:]
        error, out = "", io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(code, file, "exec", 0, True), main.__dict__)
        except BaseException:
            error = traceback.format_exc()
        answers.write(json.dumps({"displays": displays, "error": error, "stdout": out.getvalue()}) + "\n")
        answers.flush()


def ipykernel():
    from jupyter_client.manager import start_new_kernel
    manager, client = start_new_kernel(kernel_name="python3", extra_arguments=["--HistoryManager.enabled=False"])
    try:
        for line in sys.stdin:
            code = json.loads(line)
            answer = {"displays": [], "error": "", "stdout": ""}

            def take(message):
                kind, content = message["msg_type"], message["content"]
                if kind == "display_data":
                    answer["displays"].append(content["data"])
                elif kind == "error":
                    answer["error"] = "\n".join(content["traceback"])
                elif kind == "stream":
                    answer["stdout"] += content["text"]

            silent = code.startswith("import builtins as _pawl_")
            client.execute_interactive(code, silent=silent, store_history=not silent, allow_stdin=False, output_hook=take, timeout=120)
            print(json.dumps(answer), flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


ipykernel() if sys.argv[1:] == ["ipykernel"] else plain()
