-- +goose Up

-- Steps for workers. A task is claimed once; its worker renews the lease. What has ended stays as it is.
create table pawl.task (
    number      bigint generated always as identity primary key,
    id          text        not null unique,
    run_id      text        not null,
    epoch       bigint      not null,
    queue       text        not null,
    task        text        not null, -- JSON
    state       text        not null default 'waiting' check (state in ('waiting', 'running', 'ended')),
    canceled    boolean     not null default false,
    worker      text        not null default '',
    lease_until timestamptz,
    report      text,                 -- JSON, of an ended task
    updated_at  timestamptz not null default clock_timestamp(),
    check ((state = 'running') = (lease_until is not null)),
    check ((state = 'ended') = (report is not null))
);
create index task_waiting on pawl.task (queue, number) where state = 'waiting';
create index task_running on pawl.task (worker) where state = 'running';
create index task_run on pawl.task (run_id, epoch);
create index task_ended on pawl.task (updated_at) where state = 'ended';
