#!/bin/sh
# Lists the packages of the standard library that programs may import: out/packages.txt has one path a line,
# out/packages.tsv also each one's synopsis and imports, all from one call of go list.
set -eu
mkdir -p out

format='{{.ImportPath}}{{"\t"}}{{.Doc}}{{"\t"}}{{join .Imports " "}}'
go list -f "$format" std builtin > out/packages.all
awk -F '\t' '$1 !~ /(^|\/)(internal|vendor)(\/|$)/' out/packages.all | sort > out/packages.tsv.new
rm out/packages.all
mv out/packages.tsv.new out/packages.tsv

cut -f 1 out/packages.tsv > out/packages.txt.new
mv out/packages.txt.new out/packages.txt
echo "[CHECKPOINT:saved:id=list] $(wc -l < out/packages.txt | tr -d ' ') packages"
