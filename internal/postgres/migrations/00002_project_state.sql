-- +goose Up

-- The tables of Decision 76, for other programs too: they lie where unqualified names are found. Tables that exist stay as they are, and
-- without the right to create tables there, there are none.

-- +goose StatementBegin
do $$
begin
    if to_regclass('project_state') is not null or to_regclass('projects') is not null then
        return;
    end if;
    create table projects (
        id          uuid primary key,
        name        text not null,
        goal        text,
        description text,
        status      varchar(50) not null default 'active' check (status in ('active', 'completed', 'archived', 'paused')),
        path        text,
        host        text,
        created_at  timestamptz not null default now(),
        updated_at  timestamptz not null default now()
    );
    create table project_state (
        id               serial primary key,
        project_id       uuid not null unique references projects (id),
        current_task_id  varchar(100),
        current_agent_id varchar(100),
        last_action      text,
        status           varchar(50) not null check (status in ('active', 'paused', 'completed', 'failed')),
        updated_at       timestamptz not null default now(),
        metadata         jsonb
    );
    create index idx_project_state_project on project_state (project_id);
    create index idx_project_state_status on project_state (status);
    create table if not exists project_state_transactions (
        id             uuid primary key default gen_random_uuid(),
        project_id     uuid not null references projects (id),
        occurred_at    timestamptz not null default now(),
        change_type    varchar(50) not null,
        payload        jsonb not null,
        actor          varchar(100),
        previous_state jsonb
    );
    create index on project_state_transactions (project_id, occurred_at);
    create table if not exists gates (
        id          uuid primary key default gen_random_uuid(),
        project_id  uuid not null references projects (id),
        agent_id    varchar(100),
        gate_type   varchar(50) not null,
        reason      text not null,
        context     jsonb,
        status      varchar(20) not null default 'pending',
        created_at  timestamptz not null default now(),
        resolved_at timestamptz,
        resolved_by varchar(100),
        feedback    text
    );
    create index on gates (project_id);
exception
    when insufficient_privilege then
        raise notice 'no right to create the table project_state';
end
$$;
-- +goose StatementEnd
