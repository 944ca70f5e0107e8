package carrier

import (
	"encoding/json"
	"fmt"

	activitypb "go.temporal.io/api/activity/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"pawl/internal/dispatch"
	"pawl/internal/lazyregexp"
	"pawl/internal/oneline"
)

// statusOf returns the status that an answer of the server describes. It reports false if the activity has ended without a report, and the
// worker may not know that yet.
func statusOf(answer *workflowservice.DescribeActivityExecutionResponse) (s dispatch.Status, proven bool) {
	info := answer.GetInfo()
	worker := oneline.Clip(oneline.Printable(info.GetLastWorkerIdentity()), maxWorker)
	begun := info.GetLastStartedTime() != nil
	switch info.GetStatus() {
	case enumspb.ACTIVITY_EXECUTION_STATUS_RUNNING:
		s := dispatch.Status{State: dispatch.Waiting, Worker: worker, Canceled: info.GetRunState() == enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED}
		if begun {
			s.State = dispatch.Running
		}
		return s, true
	case enumspb.ACTIVITY_EXECUTION_STATUS_COMPLETED:
		report, err := parseReport(answer.GetOutcome())
		if err != nil {
			return ended(dispatch.Lost, worker, err.Error()), false
		}
		report.Worker = worker
		return dispatch.Status{State: dispatch.Ended, Worker: worker, Report: &report}, true
	}
	failure := answer.GetOutcome().GetFailure()
	why := whyOf(info, failure)
	if !begun {
		return ended(dispatch.Canceled, worker, why), true
	}
	return ended(dispatch.Lost, worker, why), failure.GetTimeoutFailureInfo().GetTimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT
}

// maxWorker and maxWhy are the greatest lengths of texts that a worker wrote.
const (
	maxWorker = 100
	maxWhy    = 500
)

func ended(outcome dispatch.Outcome, worker, why string) dispatch.Status {
	why = oneline.Clip(oneline.Printable(why), maxWhy)
	return dispatch.Status{State: dispatch.Ended, Worker: worker, Report: &dispatch.Report{Outcome: outcome, Worker: worker, Why: why}}
}

// whyOf says why an activity has no report.
func whyOf(info *activitypb.ActivityExecutionInfo, failure *failurepb.Failure) string {
	switch timeout := failure.GetTimeoutFailureInfo().GetTimeoutType(); {
	case timeout == enumspb.TIMEOUT_TYPE_HEARTBEAT:
		return fmt.Sprintf("no heartbeat of its worker for %s", info.GetHeartbeatTimeout().AsDuration())
	case timeout == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return fmt.Sprintf("no worker took it for %s", info.GetScheduleToStartTimeout().AsDuration())
	case info.GetStatus() == enumspb.ACTIVITY_EXECUTION_STATUS_TERMINATED:
		return "terminated in Temporal: " + failure.GetMessage()
	case info.GetStatus() == enumspb.ACTIVITY_EXECUTION_STATUS_CANCELED:
		return "canceled: " + info.GetCanceledReason()
	}
	return "the activity failed: " + failure.GetMessage()
}

var validSum = lazyregexp.New(`^[0-9a-f]{64}$`)

// parseReport parses the result of an activity. Whoever can take a task from the queue writes it.
func parseReport(outcome *activitypb.ActivityExecutionOutcome) (r dispatch.Report, err error) {
	var data json.RawMessage
	if err := converter.GetDefaultDataConverter().FromPayloads(outcome.GetResult(), &data); err != nil {
		return r, fmt.Errorf("unreadable report of the worker: %w", err)
	}
	if len(data) > dispatch.MaxTask {
		return r, fmt.Errorf("the report of the worker has %d bytes", len(data))
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("invalid report of the worker: %w", err)
	}
	r.Why = oneline.Clip(oneline.Printable(r.Why), maxWhy)
	switch r.Outcome {
	case dispatch.Finished:
		if !validSum.MatchString(r.Result) {
			return r, fmt.Errorf("the report of the worker names no result")
		}
	case dispatch.Refused, dispatch.Canceled, dispatch.Lost:
		r.Result = ""
	default:
		return r, fmt.Errorf("unknown outcome %q in the report of the worker", r.Outcome)
	}
	return r, nil
}
