// Package kernels kills the parts of runs of notebooks.
package kernels

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"pawl/test/cases"
	"pawl/test/stories/storytest"
)

var (
	seed   = flag.Uint64("seed", 0, "seed of the random moments, 0: by the clock; and which part is killed at the first message")
	deaths = flag.Int("deaths", 0, "how many kills at random moments; 0: a few, or 1,000 if tests try every case")
	only   = flag.Int("case", -1, "only this case of the random moments")
	each   = flag.Bool("each", false, "kill each part at each message, each in a story of its own")
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

var drivers = []string{"python", "jupyter"}

// moment is when a story is harmed: which part is killed once the session's log has a number of lines.
type moment struct {
	line int
	part string
}

const (
	firstLine = 2  // the log has the start of the kernel
	apart     = 28 // lines between two kills of a story
)

// series returns the moments of stories, which together have each line of a log. In a story they are apart, and each kills another part.
// With -each, a story has one moment, and all pairs of lines and parts have theirs.
func series(lines int) (stories [][]moment) {
	if *each {
		for line := firstLine; line <= lines; line++ {
			for _, part := range parts {
				stories = append(stories, []moment{{line, part}})
			}
		}
		return stories
	}
	for first := range apart {
		var story []moment
		turn := first + int(*seed%uint64(len(parts)))
		for line := firstLine + first; line <= lines; line += apart {
			story = append(story, moment{line, parts[turn%len(parts)]})
			turn++
		}
		stories = append(stories, story)
	}
	return stories
}

// fewSeries is how many stories each driver gets unless tests try every case.
const fewSeries = 2

// TestKilledAtEachMessage kills a part of a run, or all of it, when the session's log has a number of lines, and resumes the run. No
// finished cell is executed again, no output is lost, and the variables are those of a run that nobody killed. With PAWL_ALL_CASES=1, it
// kills a part at each line. -seed N changes which.
func TestKilledAtEachMessage(t *testing.T) {
	for i, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			want, lines := unharmed(t, driver)
			tally := newTally()
			t.Cleanup(func() { t.Logf("%d lines, -seed %d: %s", lines, *seed, tally) })
			for _, story := range cases.Some(series(lines), i, fewSeries) {
				t.Run(fmt.Sprint(story[0].part, story[0].line), func(t *testing.T) {
					t.Parallel()
					killedAt(t, driver, story, want, tally)
				})
			}
		})
	}
}

func killedAt(t *testing.T, driver string, moments []moment, want outcome, tally *tally) {
	s := newStory(t, driver)
	defer tally.add(s)
	s.tell(func() {
		if n := len(s.strikes); n < len(moments) && s.lines() >= moments[n].line {
			s.strike(moments[n].part)
		}
	})
	s.compare(s.audit(), want)
}

// TestKilledAtRandomMoments kills parts of runs, also in quick succession and while a run recovers. Its checks are those of
// TestKilledAtEachMessage. -seed N -case K repeats a case.
func TestKilledAtRandomMoments(t *testing.T) {
	from, most := *seed, *deaths
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	switch {
	case most == 0 && cases.All():
		most = 1000
	case most == 0:
		most = 12
	}
	const together = 8
	wants := map[string]outcome{}
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) { wants[driver], _ = unharmed(t, driver) })
	}
	tally := newTally()
	for first := 0; tally.deaths() < most && !t.Failed(); first += together {
		t.Run(fmt.Sprint("from", first), func(t *testing.T) {
			for i := first; i < first+together; i++ {
				driver := drivers[i%len(drivers)]
				if *only >= 0 && *only != i {
					continue
				}
				t.Run(fmt.Sprint(driver, i), func(t *testing.T) {
					t.Parallel()
					t.Logf("-seed %d -case %d", from, i)
					s := newStory(t, driver)
					defer tally.add(s)
					s.tell(s.randomly(rand.New(rand.NewPCG(from, uint64(i)))))
					s.compare(s.audit(), wants[driver])
				})
			}
		})
		t.Logf("-seed %d: %s", from, tally)
		if *only >= 0 && first > *only {
			break
		}
	}
}

// What is between two kills of a run.
const (
	mostStrikes = 12
	mostLines   = 50 // of the log
	longLull    = 600 * time.Millisecond
	shortLull   = 40 * time.Millisecond // within which a run still recovers
)

// randomly returns a function that kills a part now and then.
func (s *story) randomly(dice *rand.Rand) (harm func()) {
	left := 1 + dice.IntN(mostStrikes)
	wait := func() (lines int, lull time.Duration) { // first the one, then the other
		switch dice.IntN(4) {
		case 0:
			return 0, time.Duration(dice.Int64N(int64(longLull)))
		case 1:
			return 0, time.Duration(dice.Int64N(int64(shortLull)))
		default:
			return s.lines() + dice.IntN(mostLines), time.Duration(dice.Int64N(int64(shortLull)))
		}
	}
	var next time.Time // zero: not until the log has the lines
	lines, lull := wait()
	return func() {
		if left > 0 && next.IsZero() && s.lines() >= lines {
			next = time.Now().Add(lull)
		}
		if left == 0 || next.IsZero() || time.Now().Before(next) {
			return
		}
		if s.strike(parts[dice.IntN(len(parts))]) {
			left--
		}
		next = time.Time{}
		lines, lull = wait()
	}
}
