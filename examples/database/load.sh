# Loads the sales of a month in one transaction: load.sh MONTH. Loading them again changes nothing.
set -eu
awk -F, '{ printf "INSERT OR REPLACE INTO sales VALUES (\x27%s\x27, \x27%s\x27, %d, %d)\n", $1, $2, $3, $4 }' "sales/$1.csv" |
	python3 -c 'import subprocess, sys; sys.exit(subprocess.call(["python3", "db.py", "sql", *sys.stdin.read().splitlines()]))'
