-- +goose Up

-- The identity of this database. The marker of each run names it.
create table pawl.store (
    only_one boolean primary key default true check (only_one),
    id       uuid not null default gen_random_uuid()
);
insert into pawl.store default values;

create table pawl.run (
    id          uuid primary key,
    name        text not null,
    title       text not null default '',
    project     text not null default '',
    host        text not null default '',
    path        text not null default '',
    phase       text not null default 'arriving' check (phase in ('arriving', 'stored', 'leaving', 'left')),
    epoch       bigint not null default 0,
    head_seq    bigint not null default 0,
    head_sum    text not null default '00000000',
    owner       text not null default '',
    lease_copy  text not null default '',
    lease_host  text not null default '',
    lease_until timestamptz,
    created_at  timestamptz not null default clock_timestamp(),
    updated_at  timestamptz not null default clock_timestamp()
);
create index run_project on pawl.run (project);
create index run_lease on pawl.run (lease_until) where owner <> '';

-- line is the line of the file journal, with its newline. batch is the ID of the batch that begins with this line.
create table pawl.event (
    run_id uuid   not null,
    seq    bigint not null check (seq > 0),
    epoch  bigint not null,
    type   text   not null,
    line   bytea  not null check (octet_length(line) between 1 and 65536),
    batch  uuid,
    primary key (run_id, seq)
);

create table pawl.blob (
    run_id uuid  not null,
    sha256 bytea not null check (octet_length(sha256) = 32),
    data   bytea not null,
    primary key (run_id, sha256)
);
