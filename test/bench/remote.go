package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/remote/remotetest/servers"
)

// machine is a project with a state folder of its own, as if it were on another machine.
type machine struct {
	b    *bench
	root string
	env  []string
}

func (p place) machine(b *bench, name string) machine {
	return machine{b: b, root: filepath.Join(p.folder, name), env: append(os.Environ(), append(p.env, "PAWL_STATE="+filepath.Join(p.folder, "state-"+name))...)}
}

// place is where a remote is.
type place struct {
	folder     string // for the machines
	url        string
	repository string   // of restic, at the same place
	env        []string // of the programs that reach it
	link       *link    // to it; nil for a folder
}

// pawl runs a command in a folder, and decodes its JSON.
func (m machine) pawl(into any, folder string, args ...string) error {
	cmd := exec.Command(m.b.pawl, append(args, "--json")...)
	cmd.Dir, cmd.Env, cmd.Stderr = folder, m.env, os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		err = fmt.Errorf("pawl %s: %w: %s", args[0], err, out)
	}
	return err
}

// moved is what push and pull print.
type moved struct {
	Run   string `json:"run"`
	Bytes int64  `json:"bytes"`
}

// remotes measures how a run of a project of many files moves to another machine: through a folder, and through an S3 server behind a link.
func (b *bench) remotes() ([]line, error) {
	folder := filepath.Join(b.dir, "remote")
	share := filepath.Join(folder, "share")
	if err := os.MkdirAll(share, 0o700); err != nil {
		return nil, err
	}
	lines, err := b.moves(place{folder: folder, url: "file://" + share, repository: filepath.Join(folder, "restic")})
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("versitygw"); err != nil {
		return append(lines, missing("through an S3 server, "+linkName, "versitygw (make test-remotes)")), nil
	}
	through, err := b.throughServer()
	return append(lines, through...), err
}

// missing is the line of what cannot be measured here.
func missing(work, program string) line {
	return line{work: work, yardstick: "–", measured: program + " is not installed", ratio: "–", goal: "–", met: "–"}
}

func (b *bench) throughServer() (lines []line, err error) {
	server, err := servers.S3()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Remove()) }()
	bucket, err := server.Bucket()
	if err != nil {
		return nil, err
	}
	k, err := newLink(server.Address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	at := place{folder: filepath.Join(b.dir, "remote-s3"), url: "s3://" + bucket + "/pawl", repository: "s3:http://" + k.Address + "/" + bucket + "/restic", link: k}
	for name, value := range server.Environ() {
		at.env = append(at.env, name+"="+value)
	}
	at.env = append(at.env, "AWS_ENDPOINT_URL_S3=http://"+k.Address)
	return b.moves(at)
}

// move is how a program brings a tree to another machine. The program says what crossed the link, if there is one.
type move struct {
	name string
	do   func() (crossed int64, err error)
}

// moves measures how a run moves to another machine, first whole, then after some files changed.
func (b *bench) moves(at place) (lines []line, err error) {
	t := &tree{root: filepath.Join(at.folder, "first", "tree"), files: b.full(100_000, 5000)}
	p := &pair{place: at, first: at.machine(b, filepath.Join("first", "tree")), second: at.machine(b, "second")}
	if err := t.grow(); err != nil {
		return nil, err
	}
	cmd := exec.Command(b.pawl, "init")
	if cmd.Dir, cmd.Env = p.first.root, p.first.env; cmd.Run() != nil {
		return nil, errors.New("pawl init failed")
	}
	if err := p.first.pawl(&struct{}{}, p.first.root, "remote", "add", "origin", at.url); err != nil {
		return nil, err
	}
	others, end, err := at.movers(t)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	where := ""
	if at.link != nil {
		where = " (S3, " + linkName + ")"
	}
	r := race{link: at.link, movers: append([]move{{"pawl", p.whole}}, others...)}
	if err := r.round(); err != nil {
		return nil, err
	}
	lines = r.lines(fmt.Sprintf("%d files to another machine: `pawl checkpoint`, `push`, and `clone` there%s", t.files, where))
	r = race{link: at.link, movers: append([]move{{"pawl", p.changes}}, others...)}
	changed := int64(0)
	for round := range b.full(5, 2) + 1 {
		from := tree{root: p.here().root, files: t.files}
		paths, err := from.edit(round + 1)
		if err != nil {
			return nil, err
		}
		texts, err := from.read(paths)
		if err != nil {
			return nil, err
		}
		changed += int64(len(strings.Join(texts, "")))
		if err := r.round(); err != nil {
			return nil, err
		}
	}
	want, err := measure(t.root)
	if err == nil {
		err = sameAs(p.second.root, want)
	}
	work := fmt.Sprintf("%d files, 10 changed: `pawl checkpoint`, `push`, and there `pull`, `adopt`, `restore`, back and forth%s", t.files, where)
	lines = append(lines, r.lines(work)...)
	for _, name := range []string{"restic", "rsync"} {
		if _, err := exec.LookPath(name); err != nil {
			lines = append(lines, missing("the same", name))
		}
	}
	return append(lines, p.lines(work, changed, r.own())...), err
}

// lines compares the bytes that pawl moved with what changed.
func (p *pair) lines(work string, changed, crossed int64) []line {
	const added = "bytes that the checkpoints added to the store"
	lines := []line{
		sizeLine(work+": bytes sent", added, p.sent, p.added, p.added*12/10),
		sizeLine("the same: bytes received", added, p.received, p.added, p.added*12/10),
		sizeLine("the same: bytes sent", "bytes in the changed files, uncompressed", p.sent, changed, 0),
	}
	if p.link != nil {
		lines = append(lines, sizeLine("the same: bytes over the link, both ways", "what the checkpoints added, there and back", crossed, 2*p.added, 2*p.added*12/10))
	}
	return lines
}

// pair are two machines between which a run moves. It continues where it is.
type pair struct {
	place
	first, second         machine
	atSecond              bool
	run                   string
	sent, received, added int64 // by changes
}

// here returns the machine on which the run is.
func (p *pair) here() machine {
	if p.atSecond {
		return p.second
	}
	return p.first
}

// saved is what checkpoint prints.
type saved struct {
	Added int64 `json:"added_bytes"`
}

// whole moves everything.
func (p *pair) whole() (int64, error) {
	var done moved
	if err := errors.Join(p.first.pawl(&saved{}, p.first.root, "checkpoint"), p.first.pawl(&done, p.first.root, "push", "latest")); err != nil {
		return 0, err
	}
	p.run = done.Run
	return 0, p.second.pawl(&struct{}{}, p.folder, "clone", p.run, p.second.root, "--remote", p.url)
}

// changes moves what changed to the other machine.
func (p *pair) changes() (int64, error) {
	from := p.here()
	p.atSecond = !p.atSecond
	to := p.here()
	var s saved
	var pushed, pulled moved
	err := errors.Join(from.pawl(&s, from.root, "checkpoint"), from.pawl(&pushed, from.root, "push", p.run),
		to.pawl(&pulled, to.root, "pull", p.run), to.pawl(&struct{}{}, to.root, "adopt", p.run, "--yes"),
		to.pawl(&struct{}{}, to.root, "restore", "latest", "--yes"))
	p.sent, p.received, p.added = p.sent+pushed.Bytes, p.received+pulled.Bytes, p.added+s.Added
	return 0, err
}

// race has several programs make the same move, in turns.
type race struct {
	link   *link
	movers []move
	took   [][]time.Duration // by round and mover
	bytes  [][]int64         // over the link
}

func (r *race) round() error {
	took, crossed := make([]time.Duration, len(r.movers)), make([]int64, len(r.movers))
	for i, m := range r.movers {
		before := r.crossed()
		begin := time.Now()
		own, err := m.do()
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		took[i], crossed[i] = time.Since(begin), r.crossed()-before+own
	}
	r.took, r.bytes = append(r.took, took), append(r.bytes, crossed)
	return nil
}

func (r *race) crossed() int64 {
	if r.link == nil {
		return 0
	}
	return r.link.bytes()
}

// own is what the first mover sent over the link, in both directions, in all rounds.
func (r *race) own() (n int64) {
	for _, round := range r.bytes {
		n += round[0]
	}
	return n
}

// lines compares the first mover with the others. Of several rounds the first one does not count.
func (r *race) lines(work string) (lines []line) {
	took, crossed := r.took, r.bytes
	if len(took) > 1 {
		took, crossed = took[1:], crossed[1:]
	}
	for i, other := range r.movers {
		if i == 0 {
			continue
		}
		var works, yardsticks []time.Duration
		var ratios []float64
		var ours, theirs int64
		for n, round := range took {
			works, yardsticks = append(works, round[0]), append(yardsticks, round[i])
			ratios = append(ratios, float64(round[0])/float64(round[i]))
			ours, theirs = ours+crossed[n][0], theirs+crossed[n][i]
		}
		m := measured{work: median(works), yardstick: median(yardsticks), ratio: median(ratios), per: 1}
		lines = append(lines, m.line(work, other.name, goal{}))
		if r.link != nil {
			lines = append(lines, sizeLine("the same: bytes over the link, both ways", other.name, ours, theirs, 0))
		}
		work = "the same"
	}
	return lines
}

// movers returns the programs that are there to compare with.
func (p place) movers(t *tree) (list []move, end func() error, err error) {
	end = func() error { return nil }
	copied := filepath.Join(p.folder, "copy")
	run := func(args ...string) error {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), append(p.env, "RESTIC_PASSWORD=bench", "RESTIC_REPOSITORY="+p.repository, "RESTIC_CACHE_DIR="+copied+"-cache")...)
		cmd.Dir, cmd.Stderr = t.root, os.Stderr
		return cmd.Run()
	}
	if _, err := exec.LookPath("restic"); err == nil {
		if err := run("restic", "--quiet", "init"); err != nil {
			return nil, nil, err
		}
		list = append(list, resticMove(run, copied+"-restic"))
	}
	if _, err := exec.LookPath("rsync"); err != nil {
		return list, end, nil
	}
	if p.link == nil {
		return append(list, move{"`rsync -a` from folder to folder", func() (int64, error) {
			return 0, run("rsync", "-a", "--exclude", ".pawl", t.root+"/", copied+"-rsync/")
		}}), end, nil
	}
	address, stop, err := rsyncServer(p.folder, copied+"-rsync")
	if err != nil {
		return nil, nil, err
	}
	k, err := newLink(address)
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	list = append(list, move{"`rsync -az` to a daemon, which crosses the link once", func() (int64, error) {
		before := k.bytes()
		err := run("rsync", "-az", "--exclude", ".pawl", t.root+"/", "rsync://"+k.Address+"/copy/")
		return k.bytes() - before, err
	}})
	return list, func() error { return errors.Join(k.close(), stop()) }, nil
}

// resticMove is a backup, and a restore into a folder. It writes only the files that differ, if this restic can do that.
func resticMove(run func(args ...string) error, to string) move {
	restore := []string{"restic", "--quiet", "restore", "latest", "--target", to, "--cache-dir", to + "-cache"} // it is another machine's
	said, err := exec.Command("restic", "restore", "--help").Output()
	if err == nil && strings.Contains(string(said), "--overwrite") {
		restore = append(restore, "--overwrite", "if-changed")
	}
	name := fmt.Sprintf("`restic backup` and `%s`", strings.Join(append([]string{"restic restore"}, restore[8:]...), " "))
	return move{name, func() (int64, error) {
		return 0, errors.Join(run("restic", "--quiet", "backup", "--exclude", ".pawl", "."), run(restore...))
	}}
}

// rsyncServer starts rsync as a server that others may write a folder through.
func rsyncServer(home, folder string) (address string, stop func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = l.Addr().String()
	_, port, err := net.SplitHostPort(address)
	settings := filepath.Join(home, "rsyncd.conf")
	text := fmt.Sprintf("use chroot = no\n[copy]\npath = %s\nread only = no\n", folder)
	if os.Geteuid() == 0 {
		text += "uid = 0\ngid = 0\n"
	}
	if err := errors.Join(err, l.Close(), os.Mkdir(folder, 0o700), os.WriteFile(settings, []byte(text), 0o600)); err != nil {
		return "", nil, err
	}
	cmd := exec.Command("rsync", "--daemon", "--no-detach", "--address=127.0.0.1", "--port="+port, "--config="+settings)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	for tries := 0; ; tries++ {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return address, func() error {
				err := cmd.Process.Kill()
				_ = cmd.Wait() // it was killed
				return err
			}, conn.Close()
		}
		if tries == 200 {
			return "", nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		}
		time.Sleep(20 * time.Millisecond)
	}
}
