package kernels

import (
	"encoding/json"
	"fmt"
	"strings"
)

// bodies are the cells of the notebook. Each needs variables of earlier ones. A cell that prints later than it ends does so in lines that
// begin with "late".
var bodies = []string{
	"import hashlib, json, os, random, sys, time\nrandom.seed(18)\nprint('seeded', random.random())",
	"squares = [n * n for n in range(200000)]\nprint(len(squares), sum(squares))",
	"numerals = (n for n in range(10))\nprint(next(numerals), next(numerals))",
	"words = ['%08x' % random.getrandbits(32) for _ in range(40000)]\nprint('\\n'.join(words))",
	"draws = [random.random() for _ in range(1000)]\nsum(draws)",
	"DISPLAY\ndisplay('nothing yet', display_id='progress')\nprint('shown')",
	"with open('artifact.txt', 'w') as _file:\n    _file.write('\\n'.join(words))\n    _file.flush()\n    os.fsync(_file.fileno())\nprint(os.path.getsize('artifact.txt'))",
	"for _ in range(10):\n    time.sleep(0.03)\n    print('step', _, random.random())",
	"import threading\ndef _late():\n    for n in range(5):\n        time.sleep(0.04)\n        sys.stdout.write('late %d\\n' % n)\nthreading.Thread(target=_late).start()\nprint('started')",
	"DISPLAY\nupdate_display('half', display_id='progress')\nfirst = [1, [2]]\nsecond = first\nlen(second)",
	"class Point:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n    def __repr__(self):\n        return 'Point(%r, %r)' % (self.x, self.y)\ndef norm(point):\n    return (point.x ** 2 + point.y ** 2) ** 0.5\norigin = Point(3, 4)\norigin",
	"print(norm(origin))\npoints = {n: Point(n, draws[n]) for n in range(100)}\nprint(points[99])",
	"first.append(3)\nsecond[1].append(4)\nprint(first, second, first is second)",
	"print('to stdout')\nprint('to stderr', file=sys.stderr)\nprint('to stdout again')",
	"class Rich:\n    def _repr_html_(self):\n        return '<b>%s</b>' % sum(squares)\n    def __repr__(self):\n        return 'rich'\nRich()",
	"more = [random.gauss(0, 1) for _ in range(1000)]\nrandom.shuffle(words)\nprint(more[-1], words[0])",
	"DISPLAY\nupdate_display('done', display_id='progress')\nfor _ in range(5):\n    sys.stdout.write('%d' % _ * 65536 + '\\n')",
	"chain = b''\n_until = time.monotonic() + 0.25\nfor n in range(20000):\n    chain = hashlib.sha256(chain + str(draws[n % 1000]).encode()).digest()\nwhile time.monotonic() < _until:\n    pass\nprint(chain.hex())",
	"counts = {}\nfor word in words:\n    counts[word[0]] = counts.get(word[0], 0) + 1\nsquares[0] = -1\nprint(sorted(counts.items()))",
	digest,
}

// digest prints a hash of all variables. It does not name the one that cannot be saved.
const digest = `_all = [squares, words, draws, first, second, repr(origin), sorted((n, repr(p)) for n, p in points.items()), more, chain.hex(), counts, n, word]
print(hashlib.sha256(json.dumps(_all).encode()).hexdigest(), first is second, random.getstate()[1][-1], norm(origin), Rich())
`

// unsaved is the variable that cannot be saved. A kernel that another one replaced does not have it.
const unsaved = "numerals"

// entry writes a line to the ledger, and syncs it.
const entry = `
_fd = _os.open(_os.path.expanduser('~/ledger'), _os.O_WRONLY | _os.O_APPEND | _os.O_CREAT, 0o600)
_os.write(_fd, b'begin %d %%d\n' %% _time.time_ns())
_os.fsync(_fd)
_os.close(_fd)
`

// sourceOf returns the source of a cell. The ledger gets a line when it begins. The last expression stays the last.
func sourceOf(driver string, i int) string {
	imports := ""
	if driver == "jupyter" {
		imports = "from IPython.display import display, update_display"
	}
	body := strings.ReplaceAll(bodies[i], "DISPLAY", imports)
	return "import os as _os, time as _time" + fmt.Sprintf(entry, i) + body
}

func cellID(i int) string { return fmt.Sprintf("cell-%02d", i) }

// notebook returns the notebook.
func notebook(driver string) []byte {
	var cells []any
	for i := range bodies {
		cells = append(cells, map[string]any{"cell_type": "code", "id": cellID(i), "metadata": struct{}{}, "execution_count": nil, "outputs": []any{},
			"source": sourceOf(driver, i)})
	}
	data, err := json.Marshal(map[string]any{"cells": cells, "metadata": map[string]any{"kernelspec": map[string]string{"name": "python3",
		"display_name": "Python 3"}}, "nbformat": 4, "nbformat_minor": 5})
	if err != nil {
		panic(err)
	}
	return data
}
