"""An API that is often unavailable: server.py PORT_FILE

GET /health answers at once. GET /orders?page=N answers 503 to the first request for each page. GET /rates always answers 500.
"""
import http.server
import json
import os
import sys
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    asked = set()

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        page = urllib.parse.parse_qs(url.query).get("page", [""])[0]
        if url.path == "/health":
            self.answer(200, {"status": "ok"})
        elif url.path == "/orders" and page in self.asked:
            self.answer(200, [{"id": int(page) * 10 + n, "amount": (int(page) * 37 + n * 11) % 90 + 10} for n in range(5)])
        elif url.path == "/orders":
            self.asked.add(page)
            self.answer(503, {"error": "try again"})
        else:
            self.answer(500, {"error": "the rates are not available"})

    def answer(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w", encoding="utf-8") as f:
    f.write(str(server.server_port))
os.replace(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
