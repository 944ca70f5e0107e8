"""A Jupyter kernel for tests, on the real libzmq: what a cell contains is executed here, and plays the kernel's part.

    fake.py CONNECTION_FILE [mute] [late=N] [unheard=N] [nocontrol]

mute: it answers nothing. late: it answers only the Nth request for information. unheard: it publishes only from the Nth such
request on. nocontrol: it answers nothing on the control channel.

In a cell, k is the Kernel, and times says how often this code has come.
"""

import json
import os
import signal
import sys
import time

import zmq
from jupyter_client.session import Session


class Kernel:
    def __init__(self, path, options):
        with open(path) as f:
            info = json.load(f)
        self.options = options
        self.session = Session(key=info["key"].encode(), signature_scheme=info["signature_scheme"])
        self.stranger = Session(key=b"another key", signature_scheme=info["signature_scheme"])
        self.context = zmq.Context()
        self.sockets = {}
        for name, kind in ("shell", zmq.ROUTER), ("control", zmq.ROUTER), ("stdin", zmq.ROUTER), ("iopub", zmq.PUB):
            self.sockets[name] = self.context.socket(kind)
            mark = "-" if info["transport"] == "ipc" else ":"
            if kind == zmq.ROUTER:
                self.sockets[name].setsockopt(zmq.ROUTER_HANDOVER, 1)
            self.sockets[name].bind("{}://{}{}{}".format(info["transport"], info["ip"], mark, info[name + "_port"]))
        self.infos, self.times = 0, {}
        self.idents = self.parent = None

    def publish(self, kind, content, parent=None, session=None):
        (session or self.session).send(self.sockets["iopub"], kind, content, parent=parent or self.parent, ident=kind.encode())

    def busy(self):
        self.publish("status", {"execution_state": "busy"})

    def idle(self):
        self.publish("status", {"execution_state": "idle"})

    def started(self):
        self.publish("execute_input", {"code": "", "execution_count": 7})

    def print(self, text):
        self.publish("stream", {"name": "stdout", "text": text})

    def reply(self, status="ok", parent=None, **more):
        content = dict({"status": status, "execution_count": 7}, **more)
        self.session.send(self.sockets["shell"], "execute_reply", content, parent=parent or self.parent, ident=self.idents)

    def ok(self):
        """Plays the whole part of a cell."""
        self.busy()
        self.started()
        self.reply()
        self.idle()

    def signed(self, content):
        """Publishes a signed message whose content may be anything."""
        frames = self.session.serialize(self.session.msg("stream", {}, parent=self.parent))
        frames[-1] = content
        frames[1] = self.session.sign(frames[2:])
        self.sockets["iopub"].send_multipart([b"stream"] + frames)

    def flush(self):
        """Sends what waits to be sent, for whoever dies next."""
        for socket in self.sockets.values():
            socket.close(linger=5000)
        self.context.term()

    def inform(self, channel):
        self.infos += 1
        if self.infos >= self.options.get("unheard", 0):
            self.busy()
            self.idle()
        if self.infos < self.options.get("late", 0):
            return
        content = {"status": "ok", "implementation": "fake", "implementation_version": "1", "language_info": {"name": "Fake", "version": "2"}}
        self.session.send(self.sockets[channel], "kernel_info_reply", content, parent=self.parent, ident=self.idents)

    def execute(self, code):
        self.times[code] = self.times.get(code, 0) + 1
        try:
            exec(code, {"k": self, "times": self.times[code], "os": os, "time": time})
        except KeyboardInterrupt:
            self.reply("error", ename="KeyboardInterrupt", evalue="", traceback=[])
            self.idle()

    def run(self):
        poller = zmq.Poller()
        poller.register(self.sockets["shell"], zmq.POLLIN)
        if "nocontrol" not in self.options:
            poller.register(self.sockets["control"], zmq.POLLIN)
        while True:
            for socket, _ in poller.poll():
                channel = "shell" if socket is self.sockets["shell"] else "control"
                self.idents, message = self.session.recv(socket, 0)
                self.parent = message["header"]
                kind = message["header"]["msg_type"]
                if "mute" in self.options:
                    continue
                if kind == "kernel_info_request":
                    self.inform(channel)
                if kind == "execute_request":
                    self.execute(message["content"]["code"])
                if kind == "shutdown_request":
                    self.session.send(socket, "shutdown_reply", {"restart": False}, parent=self.parent, ident=self.idents)
                    self.flush()
                    return


if __name__ == "__main__":
    options = {}
    for word in sys.argv[2:]:
        name, _, number = word.partition("=")
        options[name] = int(number or 0)
    if "deaf" in options:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Kernel(sys.argv[1], options).run()
