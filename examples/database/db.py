"""A small SQLite server: db.py serve FILE, db.py sql STATEMENT…

The server listens on a free port of this machine and writes the port to FILE.port. A client sends one JSON list of statements, which
are one transaction, and gets the rows of the last one.
"""
import json
import os
import pathlib
import socket
import socketserver
import sqlite3
import sys


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        statements = json.loads(self.rfile.readline())
        database = sqlite3.connect(self.server.path, timeout=30)
        try:
            with database:
                rows = []
                for statement in statements:
                    rows = database.execute(statement).fetchall()
            answer = {"rows": rows}
        except sqlite3.Error as e:
            answer = {"error": str(e)}
        finally:
            database.close()
        self.wfile.write(json.dumps(answer).encode() + b"\n")


def serve(path):
    socketserver.ThreadingTCPServer.daemon_threads = True
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.path = path
        pathlib.Path(path + ".port.new").write_text(str(server.server_address[1]), encoding="utf-8")
        os.replace(path + ".port.new", path + ".port")
        server.serve_forever()


def sql(statements):
    port = int(pathlib.Path("out/shop.db.port").read_text(encoding="utf-8"))
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s, s.makefile("rw", encoding="utf-8") as stream:
        stream.write(json.dumps(statements) + "\n")
        stream.flush()
        answer = json.loads(stream.readline())
    if "error" in answer:
        sys.exit(answer["error"])
    for row in answer["rows"]:
        print(*row, sep="\t")


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    sql(sys.argv[2:])
