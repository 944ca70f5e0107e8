package schedule

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestOnCalendar(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0 6 * * *":         "*-*-* 06:00:00",
		"*/15 * * * *":      "*-*-* *:00,15,30,45:00",
		"5/20 8-17 * * 1-5": "Mon..Fri *-*-* 08..17:05,25,45:00",
		"0 0 1 1 *":         "*-01-01 00:00:00",
		"0 0 * * 0":         "Sun *-*-* 00:00:00",
		"0 0 * * 7,6":       "Sat,Sun *-*-* 00:00:00",
		"0 0 * * fri-7":     "Fri..Sun *-*-* 00:00:00",
		"30 4 1,15 * 5":     "*-*-01,15 04:30:00 | Fri *-*-* 04:30:00",
		"30 4 */2 * mon":    "Mon *-*-01,03,05,07,09,11,13,15,17,19,21,23,25,27,29,31 04:30:00",
		"0 12 1-31 * 5":     "*-*-* 12:00:00",
		"0 12 3 * 0-7":      "*-*-* 12:00:00",
		"1,2,3,7 0 * * *":   "*-*-* 00:01..03,07:00",
		"0 9 1 jan,Feb,6 *": "*-01,02,06-01 09:00:00",
		" 0  6 * * * ":      "*-*-* 06:00:00",
		"0 0 * * 7/2":       "Sun *-*-* 00:00:00",
		"@hourly":           "*-*-* *:00:00",
		"@weekly":           "Sun *-*-* 00:00:00",
		"0 0 29 2 *":        "*-02-29 00:00:00",
		"0 0 31 2 1":        "*-02-31 00:00:00 | Mon *-02-* 00:00:00",
	} {
		c, err := ParseCron(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join(c.OnCalendar(), " | "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		for _, calendar := range c.OnCalendar() {
			checkCalendar(t, calendar)
		}
	}
}

// checkCalendar asks systemd, where it is installed.
func checkCalendar(t *testing.T, calendar string) {
	t.Helper()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return
	}
	if out, err := exec.Command(program, "calendar", calendar).CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", calendar, err, out)
	}
}

func TestWrongExpressions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                "expected 5 fields",
		"0 6 * *":         "not 4",
		"0 0 6 * * *":     "not 6",
		"0 25 * * *":      `column 3: hour "25": 25 is not within 0 to 23`,
		"60 * * * *":      `column 1: minute "60"`,
		"0 0 0 * *":       `column 5: day of the month "0": 0 is not within 1 to 31`,
		"0 0 * * 8":       "8 is not within 0 to 7",
		"0 0 L * *":       `unknown value "L"`,
		"0 0 ? * *":       `unknown value "?"`,
		"0 0 * * 5#2":     `unknown value "5#2"`,
		"0 0 * * 5-1":     "the range 5-1 is empty; write 5-7,0-1",
		"*/0 * * * *":     `the step after / must be a number from 1, not "0"`,
		"1,,2 * * * *":    `unknown value ""`,
		"-1 * * * *":      `unknown value ""`,
		"+1 * * * *":      `unknown value "+1"`,
		"0 0 30 2 *":      "no month has such a day",
		"0 0 31 4,6,9 *":  "no month has such a day",
		"@reboot":         "unknown name",
		"0 0 * * monday":  `unknown value "monday"`,
		"0 0 * january *": `unknown value "january"`,
	} {
		if _, err := ParseCron(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestCalendarsMatchWhatCronMatches compares random expressions with a plain reading of crontab(5), minute by minute.
func TestCalendarsMatchWhatCronMatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var words []string
		for _, k := range kinds {
			n := func(label string) int { return rapid.IntRange(k.min, k.max).Draw(r, k.name+label) }
			a, b := n(" from"), n(" to")
			words = append(words, rapid.SampledFrom([]string{
				"*", fmt.Sprint(a), fmt.Sprintf("%d,%d", a, b), fmt.Sprintf("%d-%d", min(a, b), max(a, b)), fmt.Sprintf("*/%d", max(a, 1)),
			}).Draw(r, k.name))
		}
		text := strings.Join(words, " ")
		c, err := ParseCron(text)
		if err != nil {
			if !strings.Contains(err.Error(), "no month") {
				r.Fatalf("%s: %v", text, err)
			}
			return
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 4*365*24*60).Draw(r, "minute")) * time.Minute)
		want := cronMatches(words, at)
		got := slices.ContainsFunc(c.OnCalendar(), func(calendar string) bool { return calendarMatches(r, calendar, at) })
		if got != want {
			r.Errorf("%s at %s: %v, want %v: %v", text, at, got, want, c.OnCalendar())
		}
	})
}

// cronMatches reads an expression as crontab(5) says.
func cronMatches(words []string, at time.Time) bool {
	one := func(i, value int) bool {
		for part := range strings.SplitSeq(words[i], ",") {
			var from, to, step int
			switch {
			case part == "*":
				return true
			case strings.HasPrefix(part, "*/"):
				fmt.Sscanf(part, "*/%d", &step)
				if (value-kinds[i].min)%step == 0 {
					return true
				}
			default:
				if n, _ := fmt.Sscanf(part, "%d-%d", &from, &to); n < 2 {
					to = from
				}
				if value >= from && value <= to {
					return true
				}
			}
		}
		return false
	}
	weekday := one(4, int(at.Weekday())) || at.Weekday() == time.Sunday && !strings.HasPrefix(words[4], "*") && one(4, 7)
	day := one(2, at.Day())
	if strings.HasPrefix(words[2], "*") || strings.HasPrefix(words[4], "*") {
		day = day && weekday
	} else {
		day = day || weekday
	}
	return day && one(0, at.Minute()) && one(1, at.Hour()) && one(3, int(at.Month()))
}

// calendarMatches reads the calendar events that OnCalendar writes, as systemd.time(7) says.
func calendarMatches(r *rapid.T, calendar string, at time.Time) bool {
	words := strings.Fields(calendar)
	if len(words) == 2 {
		words = append([]string{""}, words...)
	}
	date, clock := strings.Split(words[1], "-"), strings.Split(words[2], ":")
	if len(date) != 3 || len(clock) != 3 || date[0] != "*" || clock[2] != "00" {
		r.Fatalf("%s", calendar)
	}
	names := strings.Fields("Sun Mon Tue Wed Thu Fri Sat")
	weekdays := strings.Fields("Mon Tue Wed Thu Fri Sat Sun")
	is := func(text string, value int, number func(string) int) bool {
		for part := range strings.SplitSeq(text, ",") {
			from, to, ranged := strings.Cut(part, "..")
			if !ranged {
				to = from
			}
			if part == "*" || value >= number(from) && value <= number(to) {
				return true
			}
		}
		return false
	}
	number := func(text string) (n int) { fmt.Sscanf(text, "%d", &n); return n }
	named := func(text string) int { return slices.Index(weekdays, text) }
	return (words[0] == "" || is(words[0], named(names[at.Weekday()]), named)) && is(date[1], int(at.Month()), number) && is(date[2], at.Day(), number) &&
		is(clock[0], at.Hour(), number) && is(clock[1], at.Minute(), number)
}

func FuzzParseCron(f *testing.F) {
	for _, text := range []string{"0 6 * * *", "@daily", "1-5/2,7 */3 1,31 jan-dec sun", "0 0 5-1 * *"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCron(text)
		if err == nil && len(c.OnCalendar()) == 0 {
			t.Errorf("%q has no calendar", text)
		}
	})
}
