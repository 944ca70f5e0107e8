package kerneltest

import "fmt"

// Python returns the snippets of Python. The prelude imports display, update_display and clear_output, where they are not built in.
func Python(prelude string) Language {
	return Language{
		Name: "python", Pass: "pass", Numbered: "number",
		Both:  "import sys\nprint('to stdout')\nprint('to stderr', file=sys.stderr)",
		Print: func(text string) string { return fmt.Sprintf("print(%q)", text) },
		Set:   func(name string, value int) string { return fmt.Sprintf("%s = %d", name, value) },
		Value: func(name string) string { return name },
		Fail:  "def blame():\n    raise ValueError('what went wrong')\nblame()",
		Input: "input('a question')",
		Lines: func(lines, length int) string {
			return fmt.Sprintf("for i in range(%d):\n    print('%%08d' %% i + 'x' * %d)", lines, length-9)
		},
		Many: func(n int) string { return prelude + fmt.Sprintf("for i in range(%d):\n    display(i)", n) },
		Rich: "class Rich:\n    def _repr_html_(self):\n        return '<b>rich</b>'\nRich()",
		Natives: "import os, subprocess\nos.write(1, b'native out\\n')\nos.write(2, b'native err\\n')\n" +
			"_ = subprocess.run(['sh', '-c', 'echo child out; echo child err >&2'])",
		Ordered: "import os, subprocess\nprint('one')\n_ = subprocess.run(['echo', 'two'])\nprint('three')\n_ = os.write(1, b'four\\n')",
		Thread: "import threading\ngo = threading.Event()\ndef late():\n    go.wait()\n    print('late')\n" +
			"thread = threading.Thread(target=late)\nthread.start()",
		Release: "go.set()\nthread.join()",
		Updates: prelude + "display(1, display_id='one')\nupdate_display(2, display_id='one')\nclear_output(wait=True)\ndisplay(3)",
		Loop:    "print('running', flush=True)\nwhile True:\n    pass",
		Sleep:   "import time\nprint('running', flush=True)\nwhile True: time.sleep(1)", // Python notices a signal that comes just before a sleep after it
		Call:    "import hashlib\nprint('running', flush=True)\n_ = hashlib.pbkdf2_hmac('sha256', b'a', b'b', 2000000)",
		Join:    "print('running', flush=True)\nthread.join()",
		Waiting: "in late",
		Asked: "import os, subprocess, threading\ndef deep(n):\n    return n and deep(n - 1)\nover = threading.Event()\n" +
			"def churn():\n    while not over.is_set():\n        thread = threading.Thread(target=deep, args=[100])\n        thread.start()\n        thread.join()\n" +
			"threads = [threading.Thread(target=churn) for _ in range(2)]\nfor thread in threads:\n    thread.start()\n" +
			"_ = subprocess.run(['sh', '-c', 'for i in $(seq 20000); do kill -USR1 {0}; kill -USR2 {0}; done'.format(os.getpid())])\n" +
			"over.set()\nfor thread in threads:\n    thread.join()",
		Kill:    "import os, signal\nprint('last words', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
		Exit:    "import os\nos._exit(3)",
		Crash:   "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
		Crashed: "Fatal Python error: Segmentation fault",
		Clean: func(path string) string {
			return fmt.Sprintf("try:\n    print('running', flush=True)\n    while True:\n        pass\nfinally:\n    open(%q, 'w').close()", path)
		},
		Exhaust: "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n_ = b'x' * (2 << 30)",
		Leave: "import subprocess\na = subprocess.Popen(['sleep', '3600'])\nb = subprocess.Popen(['sleep', '3600'], start_new_session=True)\n" +
			"print(a.pid, b.pid)",
		Deaf: func(signals string) string {
			return "import signal, subprocess, time\n" +
				"_argv = ['sh', '-c', \"trap '' INT TERM; exec sleep 3600\"]\n" +
				"a, b = subprocess.Popen(_argv), subprocess.Popen(_argv, start_new_session=True)\n" +
				fmt.Sprintf("for _ in %q.split():\n    signal.signal(getattr(signal, _), lambda n, _: print('got', signal.Signals(n).name, flush=True))\n", signals) +
				"print('running', a.pid, b.pid, flush=True)\nwhile True:\n    time.sleep(0.01)"
		},
		WaitFor: func(path string) string {
			return fmt.Sprintf("import os, time\nwhile not os.path.exists(%q):\n    time.sleep(0.01)\nprint('found')", path)
		},
		Environ: "import os\nfor name, value in os.environ.items():\n    if name != 'PWD':\n        print(name + '=' + value)\nprint('PWD=' + os.getcwd())",
	}
}
