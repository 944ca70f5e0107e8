# Writes the sales of a quarter: select.sh REGION QUARTER
set -eu
mkdir -p out
awk -F, -v year="$PAWL_PARAM_YEAR" -v quarter="$2" '
	NR > 1 && substr($1, 1, 4) == year && int((substr($1, 6, 2) + 2) / 3) == quarter { print quarter "," $2 "," $3 }
' "data/$1.csv" > "out/$1-$2.new"
mv "out/$1-$2.new" "out/$1-$2.csv"
