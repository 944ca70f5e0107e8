// Package schedule starts runs at set times with the timers of systemd, or with cron, and `pawl serve` with systemd. It translates cron
// expressions, writes the units of one plan of one project, lists and removes them. It is not a daemon: systemd or cron starts pawl.
package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Cron is a cron expression of five fields, as Vixie cron reads it.
type Cron struct {
	text   string // as written
	fields [5]field
}

// field is the set of values that match.
type field struct {
	values []int // sorted
	star   bool  // it begins with a star: days must then match both day fields
}

// fieldKind says what a field may contain.
type fieldKind struct {
	name     string
	min, max int
	words    []string // names of the values from min
}

var kinds = [5]fieldKind{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of the month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, words: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{name: "day of the week", max: 7, words: strings.Fields("sun mon tue wed thu fri sat")},
}

var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// ParseCron reads a cron expression: minute, hour, day of the month, month, day of the week.
func ParseCron(text string) (Cron, error) {
	c := Cron{text: strings.Join(strings.Fields(text), " ")}
	expression := text
	if strings.HasPrefix(c.text, "@") {
		if expression = macros[c.text]; expression == "" {
			return c, fmt.Errorf("schedule %q: unknown name; expected @hourly, @daily, @weekly, @monthly or @yearly", text)
		}
	}
	words := strings.Fields(expression)
	if len(words) != len(kinds) {
		return c, fmt.Errorf("schedule %q: expected 5 fields (minute, hour, day of the month, month, day of the week), not %d", text, len(words))
	}
	column := 0
	for i, word := range words {
		column += strings.Index(expression[column:], word)
		f, err := kinds[i].parse(word)
		if err != nil {
			return c, fmt.Errorf("schedule %q: column %d: %s %q: %w", text, column+1, kinds[i].name, word, err)
		}
		c.fields[i] = f
		column += len(word)
	}
	if c.never() {
		return c, fmt.Errorf("schedule %q: no month has such a day", text)
	}
	return c, nil
}

// parse reads one field: a list of values, ranges and steps.
func (k fieldKind) parse(text string) (f field, err error) {
	f.star = strings.HasPrefix(text, "*")
	for part := range strings.SplitSeq(text, ",") {
		values, err := k.part(part)
		if err != nil {
			return f, err
		}
		f.values = append(f.values, values...)
	}
	if k.max == 7 { // both 0 and 7 are Sunday
		for i, v := range f.values {
			f.values[i] = v % 7
		}
	}
	slices.Sort(f.values)
	f.values = slices.Compact(f.values)
	return f, nil
}

// part reads one element of a list: N, N-M, *, each optionally with /STEP.
func (k fieldKind) part(text string) (values []int, err error) {
	span, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
			return nil, fmt.Errorf("the step after / must be a number from 1, not %q", stepText)
		}
	}
	first, last := k.min, k.max
	if k.max == 7 {
		last = 6
	}
	if from, to, ranged := strings.Cut(span, "-"); span != "*" {
		if first, err = k.value(from); err != nil {
			return nil, err
		}
		switch {
		case ranged:
			if last, err = k.value(to); err != nil {
				return nil, err
			}
		case !stepped:
			last = first
		default:
			last = max(first, last) // 7 is Sunday too
		}
	}
	if first > last {
		return nil, fmt.Errorf("the range %s is empty; write %s-%d,%d-%s", span, strings.Split(span, "-")[0], k.max, k.min, span[strings.Index(span, "-")+1:])
	}
	for v := first; v <= last; v += step {
		values = append(values, v)
	}
	return values, nil
}

func (k fieldKind) value(text string) (int, error) {
	if i := slices.Index(k.words, strings.ToLower(text)); i >= 0 {
		return k.min + i, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || strings.ContainsAny(text, "+-"):
		return 0, fmt.Errorf("unknown value %q; expected %d to %d, *, ranges such as 1-5, lists or steps such as */5", text, k.min, k.max)
	case n < k.min || n > k.max:
		return 0, fmt.Errorf("%d is not within %d to %d", n, k.min, k.max)
	}
	return n, nil
}

// full reports whether all values match.
func (f field) full(k fieldKind) bool {
	size := k.max - k.min + 1
	if k.max == 7 {
		size = 7
	}
	return len(f.values) == size
}

// either reports whether a day matches if one of the two day fields does: neither begins with a star.
func (c Cron) either() bool { return !c.fields[2].star && !c.fields[4].star }

// monthDays is the length of each month, in a leap year.
var monthDays = [12]int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// never reports whether no month has a day that matches.
func (c Cron) never() bool {
	if c.either() {
		return false
	}
	for _, month := range c.fields[3].values {
		if c.fields[2].values[0] <= monthDays[month-1] {
			return false
		}
	}
	return true
}

// OnCalendar returns the expression as calendar events of systemd; the schedule is when any of them elapses.
func (c Cron) OnCalendar() []string {
	days, weekdays := c.fields[2], c.fields[4]
	switch {
	case !c.either():
		return []string{c.calendar(weekdayText(weekdays), numbers(days, kinds[2]))}
	case days.full(kinds[2]) || weekdays.full(kinds[4]):
		return []string{c.calendar("", "*")}
	}
	return []string{c.calendar("", numbers(days, kinds[2])), c.calendar(weekdayText(weekdays), "*")}
}

func (c Cron) calendar(weekdays, days string) string {
	text := fmt.Sprintf("*-%s-%s %s:%s:00", numbers(c.fields[3], kinds[3]), days, numbers(c.fields[1], kinds[1]), numbers(c.fields[0], kinds[0]))
	return strings.TrimPrefix(weekdays+" "+text, " ")
}

// numbers lists the values of a field; three or more in a row are a range.
func numbers(f field, k fieldKind) string {
	if f.full(k) {
		return "*"
	}
	return ranges(f.values, func(v int) string { return fmt.Sprintf("%02d", v) })
}

// weekdayText lists days of the week, from Monday as systemd counts them; "" for all.
func weekdayText(f field) string {
	if f.full(kinds[4]) {
		return ""
	}
	fromMonday := make([]int, len(f.values))
	for i, v := range f.values {
		fromMonday[i] = (v + 6) % 7
	}
	slices.Sort(fromMonday)
	names := strings.Fields("Mon Tue Wed Thu Fri Sat Sun")
	return ranges(fromMonday, func(v int) string { return names[v] })
}

func ranges(values []int, name func(int) string) string {
	var parts []string
	for i := 0; i < len(values); {
		end := i
		for end+1 < len(values) && values[end+1] == values[end]+1 {
			end++
		}
		if end-i >= 2 {
			parts = append(parts, name(values[i])+".."+name(values[end]))
			i = end + 1
			continue
		}
		parts = append(parts, name(values[i]))
		i++
	}
	return strings.Join(parts, ",")
}

// String returns the expression as it was written, with single spaces.
func (c Cron) String() string { return c.text }
