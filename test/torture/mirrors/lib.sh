# What the executors of the scenarios have in common.

# did tells the truth: the work of the step is done. It comes before the file by which the system's own contract says so.
did() {
	printf '%s %s\n' "$PAWL_STEP${PAWL_ITEM_ID:+/$PAWL_ITEM_ID}" "$PAWL_TOKEN" >>"$TORTURE_OUTSIDE/ledger"
}

# put FILE writes standard input to a file whole. The temporary one is outside of the project.
put() {
	mkdir -p "$(dirname "$1")" && cat >"$TORTURE_OUTSIDE/put-$PAWL_TOKEN" && mv "$TORTURE_OUTSIDE/put-$PAWL_TOKEN" "$1"
}

# make_ FILE is a moment's work that leaves a file in out.
make_() {
	sleep 0.03
	echo "$1 by $PAWL_STEP" | put "out/$1"
	sleep 0.03
}
