package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/project"
)

// Limits of deliveries.
const (
	maxWaiting = 1000            // messages of a receiver
	maxMessage = 64 << 10        // bytes of the file of one
	atOnce     = 4               // requests to a receiver
	firstPause = 5 * time.Second // after a failure; then twice as long each time
	maxPause   = time.Hour
	giveUp     = 72 * time.Hour // after a message was queued
)

// message is a message that waits for its delivery.
type message struct {
	ID      string          `json:"id"`
	Project string          `json:"project"` // its id
	Run     pawl.RunID      `json:"run"`
	Notice  string          `json:"notice"` // its id in the run
	Body    json.RawMessage `json:"body"`
	Queued  time.Time       `json:"queued"`
	Tries   int             `json:"tries,omitempty"`
	Next    time.Time       `json:"next,omitzero"` // no try before that
	Error   string          `json:"error,omitempty"`

	number int // of its file
}

// lane is where messages keep their order.
type lane struct {
	project string
	run     pawl.RunID
}

func (m *message) lane() lane { return lane{m.Project, m.Run} }

// queue has the messages of a receiver.
type queue struct {
	waking chan struct{}

	guard  sync.Mutex // guards what follows
	last   int        // number of the newest message
	lanes  map[lane][]*message
	held   []*message // are durable, and not to be sent yet
	ids    map[string]bool
	busy   map[lane]bool
	counts Counts
}

// Counts are what became of messages since the server began.
type Counts struct{ Delivered, Failed, Dropped, Waiting int }

// parseMessage reads the file of a message.
func parseMessage(data []byte) (*message, error) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	if m.ID == "" || m.Project == "" || m.Run == "" || len(m.Body) == 0 || m.Tries < 0 {
		return nil, errors.New("it is not a message")
	}
	return &m, nil
}

// load reads the messages that wait. Files that are not messages are left alone.
func (x *hook) load() error {
	x.guard.Lock()
	defer x.guard.Unlock()
	x.waking = make(chan struct{}, 1)
	x.lanes, x.ids, x.busy = map[lane][]*message{}, map[string]bool{}, map[lane]bool{}
	paths, err := disk.Glob(filepath.Join(x.folder, "queue"), "*.json")
	if err != nil {
		return err
	}
	slices.Sort(paths)
	for _, path := range paths {
		number, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".json"))
		data, readErr := disk.ReadFile(path, maxMessage)
		var m *message
		if err = errors.Join(err, readErr); err == nil {
			m, err = parseMessage(data)
		}
		if err != nil {
			x.tell(path, fmt.Sprintf("ignored %s: %v", path, err))
			continue
		}
		m.number = number
		x.last = max(x.last, number)
		if x.ids[m.ID] { // the server ended after it had queued the message, and before it had recorded that
			if err := disk.Remove(path); err != nil {
				return err
			}
			continue
		}
		x.ids[m.ID] = true
		x.lanes[m.lane()] = append(x.lanes[m.lane()], m)
	}
	return nil
}

func (x *hook) path(m *message) string {
	return filepath.Join(x.folder, "queue", fmt.Sprintf("%016d.json", m.number))
}

func (x *hook) save(m *message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return disk.Replace(x.path(m), data)
}

// full reports whether no more messages can be queued.
func (x *hook) full() bool {
	x.guard.Lock()
	defer x.guard.Unlock()
	return len(x.ids) >= maxWaiting
}

// put makes the messages about a run durable. They are sent after release.
func (x *hook) put(p *project.Project, run pawl.RunID, notices []pawl.Notice, now time.Time) error {
	x.guard.Lock()
	defer x.guard.Unlock()
	for _, n := range notices {
		m := &message{ID: idOf(p.ID, string(run), n.ID, x.Name), Project: p.ID, Run: run, Notice: n.ID, Queued: now.UTC(), number: x.last + 1}
		if x.ids[m.ID] {
			continue
		}
		var err error
		if m.Body, err = bodyOf(n); err == nil {
			err = x.save(m)
		}
		if err != nil {
			return err
		}
		x.last = m.number
		x.ids[m.ID] = true
		x.held = append(x.held, m)
	}
	return nil
}

// bodyOf returns a notice as JSON. A long one has no lists.
func bodyOf(n pawl.Notice) ([]byte, error) {
	body, err := json.Marshal(n)
	if err == nil && len(body) > maxMessage/2 {
		if n.Failed = nil; n.Gate != nil {
			n.Gate.Options = nil
		}
		body, err = json.Marshal(n)
	}
	return body, err
}

// release lets what was put be sent: up to where the receiver has been told is recorded.
func (x *hook) release() {
	x.guard.Lock()
	for _, m := range x.held {
		x.lanes[m.lane()] = append(x.lanes[m.lane()], m)
	}
	x.held = nil
	x.guard.Unlock()
	x.awake()
}

func (x *hook) awake() {
	select {
	case x.waking <- struct{}{}:
	default:
	}
}

// take returns a message whose time has come; it is the oldest one of its run. Without one, it says how long to wait.
func (x *hook) take(now time.Time) (m *message, wait time.Duration) {
	x.guard.Lock()
	defer x.guard.Unlock()
	wait = time.Hour
	for _, l := range slices.Collect(maps.Keys(x.lanes)) {
		head := x.lanes[l][0]
		if x.busy[l] {
			continue
		}
		if until := head.Next.Sub(now); until > 0 && head.Tries > 0 {
			wait = min(wait, until)
		} else if m == nil || head.number < m.number {
			m = head
		}
	}
	if m != nil {
		x.busy[m.lane()] = true
	}
	return m, wait
}

// deliver sends messages until ctx ends.
func (x *hook) deliver(ctx context.Context) {
	var sending sync.WaitGroup
	defer sending.Wait()
	tickets := make(chan struct{}, atOnce)
	for ctx.Err() == nil {
		m, wait := x.take(time.Now())
		if m == nil {
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
			case <-x.waking:
			case <-timer.C:
			}
			timer.Stop()
			continue
		}
		tickets <- struct{}{}
		sending.Go(func() {
			x.send(ctx, m)
			<-tickets
			x.awake() // for the next message of the run
		})
	}
}

// send tries to deliver a message.
func (x *hook) send(ctx context.Context, m *message) {
	now := time.Now()
	err := x.Post(ctx, x.URL, map[string]string{
		"Idempotency-Key": m.ID, "Webhook-Id": m.ID, "Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10),
		"Webhook-Signature": sign(x.secret, m.ID, now, m.Body),
	}, m.Body, x.Private)
	x.settle(m, err, ctx.Err() != nil, time.Now())
}

// settle records what became of a try. One that was interrupted does not count.
func (x *hook) settle(m *message, err error, interrupted bool, now time.Time) {
	x.guard.Lock()
	defer x.guard.Unlock()
	delete(x.busy, m.lane())
	if err == nil {
		x.counts.Delivered++
		x.tell("", "")
		x.drop(m)
		return
	}
	if interrupted {
		return
	}
	x.counts.Failed++
	m.Tries++
	m.Error = oneline.Clip(oneline.Printable(err.Error()), 500)
	if now.Sub(m.Queued) > giveUp {
		x.counts.Dropped++
		x.Say("webhook %s: gave up message %s of run %s after %d tries: %s", x.Name, m.Notice, m.Run, m.Tries, m.Error)
		x.drop(m)
		return
	}
	m.Next = now.Add(min(firstPause<<min(m.Tries-1, 20), maxPause)).UTC()
	x.tell("", fmt.Sprintf("not delivered, it is tried again: %s", m.Error))
	if err := x.save(m); err != nil {
		x.tell("save", err.Error()) // a restarted server tries earlier
	}
}

// drop removes the first message of a run.
func (x *hook) drop(m *message) {
	l := m.lane()
	if x.lanes[l] = x.lanes[l][1:]; len(x.lanes[l]) == 0 {
		delete(x.lanes, l)
	}
	delete(x.ids, m.ID)
	if err := disk.Remove(x.path(m)); err != nil {
		x.tell("remove", err.Error()) // it is sent again after a restart
	}
}

// Counts returns what became of the messages of all receivers.
func (h *Hooks) Counts() (sum Counts) {
	for _, x := range h.all {
		x.guard.Lock()
		sum.Delivered, sum.Failed, sum.Dropped = sum.Delivered+x.counts.Delivered, sum.Failed+x.counts.Failed, sum.Dropped+x.counts.Dropped
		sum.Waiting += len(x.ids)
		x.guard.Unlock()
	}
	return sum
}
