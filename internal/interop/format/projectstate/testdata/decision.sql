CREATE TABLE project_state (
    id SERIAL PRIMARY KEY,
    project_id UUID NOT NULL REFERENCES projects(id),
    current_task_id VARCHAR(100),
    current_agent_id VARCHAR(100),
    last_action TEXT,
    status VARCHAR(50) NOT NULL,  -- 'active', 'paused', 'completed', 'failed'
    updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    metadata JSONB  -- Additional context
);

CREATE INDEX idx_project_state_project ON project_state(project_id);
CREATE INDEX idx_project_state_status ON project_state(status);

INSERT INTO project_state
    (project_id, current_task_id, current_agent_id, last_action, status, metadata)
VALUES ('7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1101', 'implement_auth', 'backend_dev', 'Created file auth.py', 'active', '{"files_modified": 3, "tests_passing": true}')
ON CONFLICT (project_id)
DO UPDATE SET
    current_task_id = 'implement_auth',
    updated_at = NOW();
