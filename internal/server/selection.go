package server

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/lazyregexp"
	"pawl/internal/server/client"
)

// Selection selects projects.
type Selection struct {
	Status   string `query:"status" json:"status,omitempty" doc:"only projects whose current run has this status" enum:"active,waiting,paused,interrupted,completed,failed"`
	Query    string `query:"q" json:"q,omitempty" doc:"only projects with this text in their path or in the name of their run" maxLength:"200"`
	Waiting  bool   `query:"waiting" json:"waiting,omitempty" doc:"only projects that wait for a person"`
	Seconds  int64  `query:"waiting_seconds" json:"waiting_seconds,omitempty" doc:"only projects that have waited for a person for at least so long" minimum:"0" maximum:"31536000"`
	Retrying bool   `query:"retrying" json:"retrying,omitempty" doc:"only projects with a step or item that failed or crashed and is tried again"`
	Stuck    bool   `query:"stuck" json:"stuck,omitempty" doc:"only projects with an attempt that the watchdog calls stalled or overdue"`
	Failing  bool   `query:"failing" json:"failing,omitempty" doc:"only projects whose run failed or has a failed step"`
	Reason   string `query:"reason" json:"reason,omitempty" doc:"only projects whose first failed step has this reason, as reasons of the list names it" maxLength:"200"`
}

// selects reports whether the server's last look at a project is one that the selection asks for.
func (f *Selection) selects(s *watched, now time.Time) bool {
	return (f.Status == "" || string(s.Status) == f.Status) &&
		(strings.Contains(s.Path, f.Query) || strings.Contains(s.Name, f.Query)) &&
		(!f.Waiting || s.waits()) && (f.Seconds == 0 || s.waits() && now.Sub(s.since()) >= time.Duration(f.Seconds)*time.Second) &&
		(!f.Retrying || s.Retrying) && (!f.Stuck || s.Stuck) && (!f.Failing || s.fails()) && (f.Reason == "" || s.Reason == f.Reason)
}

// waits reports whether the run waits for a person.
func (s *watched) waits() bool { return s.Status == pawl.StatusWaiting || s.Gates > 0 }

// since returns since when the run waits for a person.
func (s *watched) since() time.Time {
	if s.Waiting != nil {
		return *s.Waiting
	}
	return s.Updated
}

func (s *watched) fails() bool { return s.Status == pawl.StatusFailed || s.FailedStep != "" }

// beforeDetail ends what the reasons of many failures have in common.
var beforeDetail = lazyregexp.New(`: | \(|; | after `)

// itemsFailed begins the reason of a foreach step.
var itemsFailed = lazyregexp.New(`^\d+ of \d+ items? failed`)

// reasonOf returns why a step failed, without the detail: the paths, durations and counts that only this failure has.
func reasonOf(why string) string {
	if itemsFailed.MatchString(why) {
		return "items failed"
	}
	if at := beforeDetail.FindStringIndex(why); at != nil {
		return why[:at[0]]
	}
	return why
}

// reasons counts the projects by why their first failed step failed, the most frequent reason first.
func reasons(projects []*watched) []client.Reason {
	counts := map[string]int{}
	for _, s := range projects {
		if s.FailedStep != "" {
			counts[s.Reason]++
		}
	}
	all := make([]client.Reason, 0, len(counts))
	for text, n := range counts {
		all = append(all, client.Reason{Reason: text, Projects: n})
	}
	slices.SortFunc(all, func(a, b client.Reason) int {
		return cmp.Or(cmp.Compare(b.Projects, a.Projects), strings.Compare(a.Reason, b.Reason))
	})
	return all[:min(len(all), maxReasons)]
}

// maxReasons is how many reasons a list names.
const maxReasons = 50
