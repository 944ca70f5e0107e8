# Plays a coding agent: reads its prompt, works, and speaks as docs/plan.md says of `use: command`. Its first program is wrong,
# as first programs are: the checks find that, and the next attempt is told.
prompt=$(cat)
say() { printf '{"text": "%s"}\n' "$1"; }
uses() { printf '{"tool": "Write", "input": {"path": "%s"}}\n{"usage": {"usd": %s, "tokens": %s}}\n' "$1" "$2" "$3"; }

printf '{"session": "%s"}\n' "${PAWL_SESSION:-player-$PAWL_STEP-$PAWL_ATTEMPT}"
mkdir -p out
case "$PAWL_STEP/$prompt" in
program/*"these checks fail"*)
	say "I was told what is wrong: it counts lines."
	uses out/words.sh 0.02 900
	echo 'echo $(wc -w)' > out/words.sh
	say "Mended: it prints a bare number."
	;;
program/*)
	uses out/words.sh 0.05 2100
	echo 'wc -l' > out/words.sh
	say "Written: it counts words."
	;;
manual/*)
	uses "out/manual.$PAWL_ITEM.txt" 0.01 400
	case $PAWL_ITEM in
	en) echo "words.sh prints how many words there are in what it reads." ;;
	de) echo "words.sh gibt aus, wie viele Wörter es gelesen hat." ;;
	esac > "out/manual.$PAWL_ITEM.txt"
	say "The page in $PAWL_ITEM is written."
	;;
esac
