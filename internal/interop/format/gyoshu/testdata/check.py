"""Checks manifests by Gyoshu's rule in a second language: python3 check.py FILE…"""
import hashlib, json, sys

def is_index(key):
    return key.isascii() and key.isdigit() and str(int(key)) == key and int(key) < 2**32 - 1

def number(value):
    value = float(value)
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    digits, _, exponent = repr(value).partition("e")
    if exponent == "-05" or exponent == "-06":  # JavaScript writes these out
        sign, digits = digits[: digits.startswith("-")], digits.lstrip("-")
        return sign + "0." + "0" * (int(exponent[1:]) - 1) + digits.replace(".", "")
    return digits + (f"e{exponent[0]}{int(exponent[1:])}" if exponent else "")

def stringify(value, pad="\n"):
    inner = pad + "  "
    if isinstance(value, dict) and value:
        keys = sorted(filter(is_index, value), key=int) + [k for k in value if not is_index(k)]
        return "{" + ",".join(f"{inner}{stringify(k)}: {stringify(value[k], inner)}" for k in keys) + pad + "}"
    if isinstance(value, list) and value:
        return "[" + ",".join(inner + stringify(v, inner) for v in value) + pad + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)

for name in sys.argv[1:]:
    with open(name, encoding="utf-8", newline="") as f:
        manifest = json.load(f)
    wanted = manifest.pop("manifestSha256")
    good = hashlib.sha256(stringify(manifest).encode("utf-8", "surrogatepass")).hexdigest() == wanted
    print("good" if good else "bad", name)
