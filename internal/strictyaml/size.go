package strictyaml

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are the units of sizes. A unit that is a suffix of another comes after it.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// ParseSize returns the bytes of a size such as 256MiB.
func ParseSize(text string) (int64, error) {
	for _, unit := range units {
		digits, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
		if err != nil || n > math.MaxInt64/uint64(unit.bytes) {
			break
		}
		return int64(n) * unit.bytes, nil
	}
	return 0, fmt.Errorf("invalid size %q; use a form such as 256MiB", text)
}
