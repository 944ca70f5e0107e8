"""Asks the API and prints its answer: client.py PATH"""
import pathlib
import sys
import urllib.error
import urllib.request

port = pathlib.Path("out/port").read_text(encoding="utf-8")
try:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{sys.argv[1]}", timeout=10) as answer:
        print(answer.read().decode())
except urllib.error.HTTPError as e:
    sys.exit(f"{sys.argv[1]}: {e.code} {e.read().decode()}")
