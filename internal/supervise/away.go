package supervise

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
)

// DeliveredFile is a file in the folder of an attempt that a worker carries out: how the step ended there, as an exit record. The courier
// writes it last, when the project has all files of the step.
const DeliveredFile = "delivered.json"

// Deliver writes DeliveredFile. It need not survive a power failure: the next courier takes the result again.
func Deliver(dir string, exit pawl.Exit) error {
	data, err := json.Marshal(exit)
	if err != nil {
		return err
	}
	return disk.Put(filepath.Join(dir, DeliveredFile), data)
}

// Delivered returns how the attempt with a token ended on its worker; nil if no courier has delivered that.
func Delivered(dir string, token pawl.Token) *pawl.Exit {
	exit, _, err := readExit(filepath.Join(dir, DeliveredFile))
	if err != nil || exit == nil || exit.Token != token {
		return nil
	}
	return exit
}

// Undeliver removes DeliveredFile, so that a courier brings the files of the step again.
func Undeliver(dir string) error { return disk.Remove(filepath.Join(dir, DeliveredFile)) }

// A courier that ends without a delivery is started again after courierPause, courierTries times.
const (
	courierTries = 10
	courierPause = time.Second
)

// runCourier runs the courier until it has delivered how the step ended, and takes that as how the command ended.
func (s *supervisor) runCourier() (delivered bool) {
	for range courierTries {
		ended := s.runTask(s.command())
		s.followMove()
		if exit := Delivered(s.dir, s.job.Token); exit != nil {
			s.exit.Reason, s.exit.Exit, s.exit.Signal, s.exit.Why = exit.Reason, exit.Exit, exit.Signal, exit.Why
			s.delivered = exit
			return true
		}
		if ended.cause != nil {
			s.exit.Exit, s.exit.Signal, s.exit.Reason, s.exit.Why = ended.code, ended.signal, ended.cause.Reason, ended.cause.Why
			return false
		}
		time.Sleep(courierPause)
	}
	s.exit.Reason, s.exit.Why = pawl.ReasonLost, fmt.Sprintf("the courier ended %d times before it had a result; see %s", courierTries, pawl.ErrFile)
	return false
}

// withoutCredentials returns the environment of a check without what only the courier needs.
func (s *supervisor) withoutCredentials(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(dispatch.Credentials, name) && !slices.Contains(s.job.Away.Secrets, name)
	})
}
