"""Builds a wheel of a package without dependencies: build_wheel.py PACKAGE FOLDER"""
import base64
import hashlib
import os
import pathlib
import sys
import zipfile

package, folder = sys.argv[1:]
info = f"{package}-1.0.dist-info"
files = {str(f): f.read_bytes() for f in sorted(pathlib.Path(package).glob("*.py"))}
files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode()
files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: build_wheel\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n" for name, data in files.items())
files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()

path = os.path.join(folder, f"{package}-1.0-py3-none-any.whl")
with zipfile.ZipFile(path + ".new", "w") as z:
    for name, data in files.items():
        z.writestr(zipfile.ZipInfo(name), data)  # without times: the same sources give the same bytes
os.replace(path + ".new", path)
