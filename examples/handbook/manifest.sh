#!/bin/sh
# Writes the SHA-256 of every page, sorted by name, as sha256sum -c reads it in out/pages.
set -eu
if command -v sha256sum > /dev/null; then sum=sha256sum; else sum="shasum -a 256"; fi
cd out/pages
find . -type f -name '*.md' | sed 's|^\./||' | sort | xargs $sum > ../manifest.new
mv ../manifest.new ../manifest.txt
