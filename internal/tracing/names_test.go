package tracing

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// TestNames compares the names with those that the authors of the conventions generate.
func TestNames(t *testing.T) {
	t.Parallel()
	if schemaURL != semconv.SchemaURL {
		t.Errorf("%s, want %s", schemaURL, semconv.SchemaURL)
	}
	for name, want := range map[string]attribute.Key{
		serviceName: semconv.ServiceNameKey, serviceVersion: semconv.ServiceVersionKey,
		pipelineName: semconv.CICDPipelineNameKey, pipelineRun: semconv.CICDPipelineRunIDKey, pipelineResult: semconv.CICDPipelineResultKey,
		taskName: semconv.CICDPipelineTaskNameKey, taskRun: semconv.CICDPipelineTaskRunIDKey, taskResult: semconv.CICDPipelineTaskRunResultKey,
		operationName: semconv.GenAIOperationNameKey, agentName: semconv.GenAIAgentNameKey, requestModel: semconv.GenAIRequestModelKey,
		conversation: semconv.GenAIConversationIDKey, exitCode: semconv.ProcessExitCodeKey, errorType: semconv.ErrorTypeKey,
	} {
		if name != string(want) {
			t.Errorf("%s, want %s", name, want)
		}
	}
	for value, want := range map[string]attribute.KeyValue{
		resultSuccess: semconv.CICDPipelineResultSuccess, resultFailure: semconv.CICDPipelineResultFailure, resultError: semconv.CICDPipelineResultError,
		resultTimeout: semconv.CICDPipelineResultTimeout, resultCancellation: semconv.CICDPipelineResultCancellation, resultSkip: semconv.CICDPipelineResultSkip,
		invokeAgent: semconv.GenAIOperationNameInvokeAgent,
	} {
		if value != want.Value.AsString() {
			t.Errorf("%s, want %s", value, want.Value.AsString())
		}
	}
}
