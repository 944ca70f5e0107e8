#!/bin/sh
# Checks every link between the pages, and reports in out/links.txt. Fails when one is broken.
set -eu
find out/pages -type f -name '*.md' | sort > out/links.pages
code=0
xargs awk -f links.awk < out/links.pages > out/links.new || code=1
rm out/links.pages
mv out/links.new out/links.txt
result=$(tail -n 1 out/links.txt)
echo "$result"
if test -n "${PAWL_EVENTS:-}" && command -v pawl > /dev/null; then
	pawl progress "$result" || true # inside a run, whoever watches sees it
fi
exit "$code"
