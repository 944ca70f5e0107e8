"""Writes the report: report.py"""
import json
import pathlib

orders = [o for f in sorted(pathlib.Path("out/pages").glob("*.json")) for o in json.loads(f.read_text())]
rates = pathlib.Path("out/rates.json")
lines = [f"{len(orders)} orders, {sum(o['amount'] for o in orders)} in all"]
lines.append("converted to EUR" if rates.exists() else "not converted: the rates were not available")
pathlib.Path("out/report.txt").write_text("\n".join(lines) + "\n")
