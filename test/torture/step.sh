# What the steps of the torture plans have in common.

# effect is what a step does to the world outside: one line of the ledger, in one write. It comes last, and only when all
# before it went well: a kill may hit the mv or the sha256sum of a step alone, and behind a ";" its shell would go on,
# and say that it had done what it had not.
effect() {
	printf '%s %s %s %s %s\n' "$PAWL_STEP" "${PAWL_ITEM_ID:--}" "$PAWL_ATTEMPT" "$PAWL_TOKEN" $$ >>"$TORTURE_OUTSIDE/ledger"
}

# put FILE TEXT writes a file whole: a temporary one, then a rename.
put() {
	printf '%s\n' "$2" >"$PAWL_ATTEMPT_DIR/put" && mv "$PAWL_ATTEMPT_DIR/put" "$1"
}

# done_ says so in the result file, after the effect: by that an attempt is believed whose supervisor was lost.
done_() {
	put "$PAWL_RESULT" '{"status":"done"}'
}

# begin and end tell the truth of the campaign what a step does, each line synced.
begin() {
	tell begin
}

end() {
	tell end
}

tell() {
	printf '%s %s %s %s %s %s\n' "$1" "$PAWL_STEP" "${PAWL_ITEM_ID:--}" "$PAWL_ATTEMPT" "$PAWL_TOKEN" "$PAWL_KEY" >>"$TORTURE_OUTSIDE/truth" &&
		sync "$TORTURE_OUTSIDE/truth"
}
