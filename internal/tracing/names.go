package tracing

// Names of spans' attributes, of the semantic conventions of OpenTelemetry. Those of pipelines and agents are in development: all are
// here, so that a new version changes one file.
const (
	schemaURL = "https://opentelemetry.io/schemas/1.41.0"

	serviceName    = "service.name"
	serviceVersion = "service.version"

	pipelineName   = "cicd.pipeline.name"
	pipelineRun    = "cicd.pipeline.run.id"
	pipelineResult = "cicd.pipeline.result"
	taskName       = "cicd.pipeline.task.name"
	taskRun        = "cicd.pipeline.task.run.id"
	taskResult     = "cicd.pipeline.task.run.result"

	operationName = "gen_ai.operation.name"
	invokeAgent   = "invoke_agent"
	agentName     = "gen_ai.agent.name"
	requestModel  = "gen_ai.request.model"
	conversation  = "gen_ai.conversation.id"

	exitCode  = "process.exit.code"
	errorType = "error.type"
)

// Results of pipelines and of their tasks.
const (
	resultSuccess      = "success"
	resultFailure      = "failure"
	resultError        = "error"
	resultTimeout      = "timeout"
	resultCancellation = "cancellation"
	resultSkip         = "skip"
)

// Names without a convention.
const (
	attemptNumber = "pawl.attempt"
	attemptEnd    = "pawl.attempt.outcome"
	itemID        = "pawl.item.id"
	gateType      = "pawl.gate.type"
	gateAnswer    = "pawl.gate.answer"
	verdictWord   = "pawl.verdict"
	engineCount   = "pawl.engines"
	engineDeaths  = "pawl.engine.deaths"
	usageTokens   = "pawl.usage.tokens"
	usageUSD      = "pawl.usage.usd"
)
