package grid

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"pawl"
)

// blockID normalizes the id of a block: 1, "01" and Block 01 are block 01.
func blockID(raw string) string {
	id := strings.TrimSpace(raw)
	if rest, ok := strings.CutPrefix(strings.ToLower(id), "block"); ok {
		id = strings.TrimLeft(rest, " -_:")
	}
	whole, fraction, _ := strings.Cut(id, ".")
	if n, err := strconv.ParseUint(whole, 10, 31); err == nil && strings.Trim(fraction, "0") == "" {
		return fmt.Sprintf("%02d", n)
	}
	if id == "" {
		return ""
	}
	return string(pawl.StepIDOf(id))
}

// threadID normalizes the id of a thread in a block: 1, 2.1 and "02.1" are thread 02.1 of block 02.
func threadID(block, raw string) pawl.ItemID {
	raw = strings.TrimSpace(raw)
	of, number, found := strings.Cut(raw, ".")
	if !found {
		of, number = block, raw
	}
	if n, err := strconv.ParseUint(number, 10, 31); err == nil {
		return pawl.ItemIDOf(blockID(of) + "." + strconv.FormatUint(n, 10))
	}
	return pawl.ItemIDOf(raw)
}

// threadNumber returns the number of a thread in its block, 0 if its id has none.
func threadNumber(id pawl.ItemID) int {
	_, number, _ := strings.Cut(string(id), ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// blockOrder compares ids of blocks: numbers by value, and before words.
func blockOrder(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	switch {
	case errX == nil && errY == nil:
		return cmp.Compare(x, y)
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}
