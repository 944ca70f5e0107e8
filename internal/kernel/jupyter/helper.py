"""Carries messages between pawl and a Jupyter kernel.

pawl, which is written in Go, knows the rules of Jupyter's protocol. This program speaks only its transport, with the
libraries that Jupyter itself uses: pyzmq, and the signing of jupyter_client. It decides nothing and forgets everything,
so pawl can replace it in the middle of a cell.

It uses three pipes:

- COMMANDS, from pawl: one JSON object a line. The first is the configuration.
- MESSAGES, to pawl: two lines for each message of the kernel. The first is a JSON object that says what it is, the second
  its content, as the kernel wrote it.
- ANSWERS, to pawl: the same. Answers of the control channel come here, so that they never wait behind
  messages.

The end of COMMANDS means that pawl is dead. The kernel must not outlive it, so this program kills it then.
"""

import base64
import collections
import json
import os
import signal
import sys
import tempfile
import threading
import time

sys.path.pop(0)  # this program's folder, to which the kernel can write

COMMANDS, MESSAGES, ANSWERS = 3, 4, 5

try:
    import jupyter_client.session
    import zmq
    from jupyter_client.session import Session
    from zmq.utils.monitor import recv_monitor_message
except ImportError as err:
    os.write(ANSWERS, b'{"channel":"helper","type":"missing"}\n' + json.dumps({"why": str(err)}).encode() + b"\n")
    sys.exit(1)

jupyter_client.session.extract_dates = lambda header: header  # pawl parses dates itself; this takes a tenth of the time of a small cell

MEMORY = 256 << 20  # bytes of messages that wait in memory, of each pipe; what is more waits in a file
BATCH = 100  # messages of a channel before the next channel has its turn
SILENCE = 0.01  # seconds without a message after a dead kernel's connection ended
MOST_SILENCE = 0.25  # the same if the connection does not end, because a child of the kernel holds it open


class Pipe:
    """Writes to a pipe from a thread of its own, so that a slow reader delays nobody. It loses nothing."""

    def __init__(self, fd, folder, memory=MEMORY):
        self.fd, self.folder, self.memory = fd, folder, memory
        self.changed = threading.Condition()
        self.waiting, self.size = collections.deque(), 0
        self.spilled, self.lengths, self.offset = None, collections.deque(), 0
        threading.Thread(target=self.write, daemon=True).start()

    def put(self, *lines):
        """Adds lines. All that is added in one call stays together."""
        data = b"".join(line + b"\n" for line in lines)
        with self.changed:
            if self.lengths or self.size + len(data) > self.memory:
                self.spill(data)
            else:
                self.waiting.append(data)
                self.size += len(data)
            self.changed.notify()

    def spill(self, data):
        """Appends data to the file. It is read only after all that waits in memory."""
        if self.spilled is None:
            self.spilled, self.offset = tempfile.TemporaryFile(dir=self.folder), 0
        self.spilled.seek(0, os.SEEK_END)
        self.spilled.write(data)
        self.lengths.append(len(data))

    def take(self):
        """Returns what was added first, and waits until there is something."""
        with self.changed:
            while not self.waiting and not self.lengths:
                self.changed.wait()
            if self.waiting:
                data = self.waiting.popleft()
                self.size -= len(data)
                return data
            self.spilled.seek(self.offset)
            data = self.spilled.read(self.lengths.popleft())
            self.offset += len(data)
            if not self.lengths:
                self.spilled.close()
                self.spilled = None
            return data

    def write(self):
        """Writes all that is added, until the reader is gone."""
        try:
            while True:
                rest = memoryview(self.take())
                while rest:
                    rest = rest[os.write(self.fd, rest) :]
        except BrokenPipeError:
            pass


class Lines:
    """Reads lines from a pipe without waiting."""

    def __init__(self, fd):
        self.fd, self.rest = fd, b""

    def read(self):
        """Returns the complete lines that one read yields; None at the end of the pipe."""
        data = os.read(self.fd, 1 << 20)
        if not data:
            return None
        *lines, self.rest = (self.rest + data).split(b"\n")
        return lines


class Helper:
    """The connection to one kernel."""

    def __init__(self, config, commands, messages, answers):
        self.commands, self.messages, self.answers = commands, messages, answers
        self.group = config["group"]
        with open(config["connection"], encoding="utf-8") as f:
            info = json.load(f)
        self.session = Session(
            session=config["session"],
            key=info["key"].encode(),
            signature_scheme=info["signature_scheme"],
        )
        self.context = zmq.Context()
        self.context.setsockopt(zmq.RCVHWM, 0)  # else the kernel drops output whenever this process is slow
        self.context.setsockopt(zmq.SNDHWM, 0)
        self.context.setsockopt(zmq.LINGER, 0)
        self.context.setsockopt(zmq.RECONNECT_IVL, 20)  # milliseconds: the kernel may not listen yet
        self.sockets = {name: self.connect(name, info) for name in ("iopub", "shell", "stdin", "control")}
        self.monitor = self.sockets["iopub"].get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self.marks = []  # what to tell once nothing is left to receive
        self.ended = False  # the connection ended
        self.draining = None  # when draining began
        self.heard = 0.0  # when the last message came

    def connect(self, name, info):
        """Returns a socket for a channel. The identity lets a second connection get the answers of the first."""
        socket = self.context.socket(zmq.SUB if name == "iopub" else zmq.DEALER)
        if name == "iopub":
            socket.setsockopt(zmq.SUBSCRIBE, b"")
        else:
            socket.setsockopt(zmq.IDENTITY, self.session.bsession)
        mark = "-" if info["transport"] == "ipc" else ":"
        socket.connect("{}://{}{}{}".format(info["transport"], info["ip"], mark, info[name + "_port"]))
        return socket

    def run(self):
        """Carries messages until pawl says that it is over, or is dead."""
        poller = zmq.Poller()
        poller.register(self.commands.fd, zmq.POLLIN)
        poller.register(self.monitor, zmq.POLLIN)
        for socket in self.sockets.values():
            poller.register(socket, zmq.POLLIN)
        self.answers.put(b'{"channel":"helper","type":"ready"}', b"{}")
        while True:
            ready = dict(poller.poll(0 if self.marks else 2 if self.draining else None))
            if not ready:
                self.flush_marks()
            if self.monitor in ready:
                recv_monitor_message(self.monitor)
                self.ended = True
            for name, socket in self.sockets.items():
                if socket in ready:
                    self.receive(name, socket)
            if self.commands.fd in ready and not self.obey():
                return
            if self.draining:
                self.drain()

    def obey(self):
        """Carries out the commands that have come. It returns False if there will be none any more."""
        lines = self.commands.read()
        if lines is None:
            kill(self.group)
            return False
        for line in lines:
            command = json.loads(line)
            if command["op"] == "end":
                return False
            if command["op"] == "drain":
                self.draining = self.heard = time.monotonic()
            if command["op"] == "mark":
                self.marks.append(command["id"])
            if command["op"] == "send":
                header = self.session.msg_header(command["type"])
                header["msg_id"] = command["id"]
                socket = self.sockets[command["channel"]]
                self.session.send(socket, command["type"], command["content"], header=header)
        return True

    def receive(self, name, socket):
        """Passes messages of a channel on. What has a wrong signature, or is no message, is only told."""
        for _ in range(BATCH):
            try:
                _, message = self.session.recv(socket, zmq.NOBLOCK, content=False)
                if message is None:
                    return
                self.heard = time.monotonic()
                self.forward(name, message)
            except Exception as err:  # a stranger may have sent anything
                why = "{} on {}: {}".format(type(err).__name__, name, err)[:500]
                self.messages.put(b'{"channel":"helper","type":"refused"}', json.dumps({"why": why}).encode())

    def forward(self, name, message):
        """Passes a message on."""
        header, content = message["header"], bytes(message["content"])
        what = {
            "channel": name,
            "type": header["msg_type"],
            "id": header["msg_id"],
            "parent": (message["parent_header"] or {}).get("msg_id", ""),
            "date": str(header.get("date", "")),
        }
        if message["buffers"]:
            what["buffers"] = [base64.b64encode(b).decode() for b in message["buffers"]]
        line = json.dumps(what).encode()
        pipe = self.answers if name == "control" else self.messages
        pipe.put(line, content.replace(b"\n", b" "))  # in JSON a line can only end between tokens

    def flush_marks(self):
        """Returns the marks behind all messages that have come."""
        for mark in self.marks:
            self.messages.put(json.dumps({"channel": "helper", "type": "mark", "parent": mark}).encode(), b"{}")
        self.marks = []

    def drain(self):
        """Tells pawl once all messages of a dead kernel have come."""
        now = time.monotonic()
        silent = now - self.heard
        if silent > MOST_SILENCE or self.ended and silent > SILENCE:
            self.draining = None
            self.messages.put(b'{"channel":"helper","type":"drained"}', b"{}")


def kill(group):
    """Kills the process group of the kernel."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    commands = Lines(COMMANDS)
    first = []
    while not first:
        first = commands.read()
        if first is None:
            return
    config = json.loads(first[0])
    folder = os.path.dirname(config["connection"])
    messages = Pipe(MESSAGES, folder, config.get("memory", MEMORY))
    Helper(config, commands, messages, Pipe(ANSWERS, folder)).run()


if __name__ == "__main__":
    main()
