package projectstate

import (
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/dump"
)

// schemaOf returns the tables that a file lacks: those of the program, with the unique key that the decision lacks.
func schemaOf(f format.File) string {
	if f.Was == nil {
		return head + schema
	}
	there, lacks := dump.Read(f.Data, tables...), ""
	for _, t := range dump.Read([]byte(schema)).Tables {
		if there.Table(t.Name) == nil {
			lacks += t.Made + ";\n"
		}
	}
	return lacks
}

const head = `-- The state of projects: the table project_state and its related tables, for PostgreSQL and SQLite.
`

const schema = `CREATE TABLE project_state (
	project_id VARCHAR(36) NOT NULL PRIMARY KEY,
	current_phase VARCHAR(100) NOT NULL DEFAULT 'initialization',
	active_task_id VARCHAR(100),
	active_agent_id VARCHAR(100),
	completed_tasks JSON NOT NULL DEFAULT '[]',
	pending_tasks JSON NOT NULL DEFAULT '[]',
	metadata JSON NOT NULL DEFAULT '{}',
	status VARCHAR(20) NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'completed', 'failed')),
	last_action TEXT,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
	last_updated TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE project_state_snapshots (
	id VARCHAR(36) NOT NULL PRIMARY KEY,
	project_id VARCHAR(36) NOT NULL REFERENCES project_state (project_id) ON DELETE CASCADE,
	snapshot_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
	state JSON NOT NULL,
	taken_by VARCHAR(100),
	notes TEXT
);
CREATE TABLE project_state_transactions (
	id VARCHAR(36) NOT NULL PRIMARY KEY,
	project_id VARCHAR(36) NOT NULL REFERENCES project_state (project_id) ON DELETE CASCADE,
	occurred_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
	change_type VARCHAR(50) NOT NULL,
	payload JSON NOT NULL,
	actor VARCHAR(100),
	previous_state JSON
);
CREATE TABLE gates (
	id VARCHAR(36) NOT NULL PRIMARY KEY,
	project_id VARCHAR(36) NOT NULL,
	agent_id VARCHAR(100),
	gate_type VARCHAR(50) NOT NULL,
	reason TEXT NOT NULL,
	context JSON,
	status VARCHAR(20) NOT NULL DEFAULT 'pending',
	created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
	resolved_at TIMESTAMP WITH TIME ZONE,
	resolved_by VARCHAR(100),
	feedback TEXT
);
`
