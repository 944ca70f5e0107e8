PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE projects (id VARCHAR(36) NOT NULL, name VARCHAR(200), description TEXT, status VARCHAR(20), PRIMARY KEY (id));
INSERT INTO projects VALUES('7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1101','ferry','Timetables that cannot be wrong','active');
CREATE TABLE project_state (
	project_id VARCHAR(36) NOT NULL, 
	current_phase VARCHAR(100) NOT NULL, 
	active_task_id VARCHAR(100), 
	active_agent_id VARCHAR(100), 
	completed_tasks JSON NOT NULL, 
	pending_tasks JSON NOT NULL, 
	metadata JSON NOT NULL, 
	status VARCHAR(20) NOT NULL, 
	last_action TEXT, 
	created_at DATETIME NOT NULL, 
	last_updated DATETIME NOT NULL, 
	PRIMARY KEY (project_id)
);
INSERT INTO project_state VALUES('7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1101','implementation','write_tables','backend_dev','["08", "read_tides"]','["write_tables", "deploy"]','{"tests_passing": true, "note": "it''s late", "task_results": {"08": {"outcome": "success"}}, "task_owners": {"08": "data_dev"}}','active','Created file src/tables.py','2026-02-27 09:00:00.000001','2026-02-28 10:30:00.250000');
INSERT INTO project_state VALUES('7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1102','deploy','deploy','devops_agent','[]','["task_1", "task_2"]','{}','paused','Paused by user','2026-02-27 09:00:00.000000','2026-02-27 09:00:00.000000');
INSERT INTO project_state VALUES('7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1103','initialization',NULL,NULL,'["a", "b"]','[]','{}','completed',NULL,'2026-02-27 09:00:00.000000','2026-02-27 09:00:00.000000');
CREATE TABLE project_state_snapshots (
	id VARCHAR(36) NOT NULL, project_id VARCHAR(36) NOT NULL, snapshot_at DATETIME NOT NULL, state JSON NOT NULL, taken_by VARCHAR(100), notes TEXT, 
	PRIMARY KEY (id), FOREIGN KEY(project_id) REFERENCES project_state (project_id) ON DELETE CASCADE
);
INSERT INTO project_state_snapshots VALUES('0123456789abcdef0123456789abcdef','7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1101','2026-02-28 10:00:00.000000','{"active_task_id": "read_tides", "completed_tasks": ["08"]}','system','hourly');
CREATE TABLE project_state_transactions (
	id VARCHAR(36) NOT NULL, project_id VARCHAR(36) NOT NULL, occurred_at DATETIME NOT NULL, change_type VARCHAR(50) NOT NULL, payload JSON NOT NULL, actor VARCHAR(100), previous_state JSON, 
	PRIMARY KEY (id), FOREIGN KEY(project_id) REFERENCES project_state (project_id) ON DELETE CASCADE
);
INSERT INTO project_state_transactions VALUES('00000000000000000000000000000001','7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1101','2026-02-28 09:30:00.000000','record_task_completion','{"active_task_id": null, "completed_tasks": ["08"]}','orchestrator','{"completed_tasks": []}');
INSERT INTO project_state_transactions VALUES('00000000000000000000000000000002','7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1101','2026-02-28 10:15:00.000000','record_task_completion','{"active_task_id": null, "completed_tasks": ["08", "read_tides"]}','orchestrator','{"completed_tasks": ["08"]}');
COMMIT;
