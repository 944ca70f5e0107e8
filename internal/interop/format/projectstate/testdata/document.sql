--
-- PostgreSQL database dump
--

\restrict a1

SET standard_conforming_strings = on;

CREATE TABLE public.project_state (
    id integer NOT NULL,
    project_id uuid NOT NULL,
    current_task_id character varying(100),
    current_agent_id character varying(100),
    last_action text,
    status character varying(50) NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    metadata jsonb
);

ALTER TABLE public.project_state_id_seq OWNER TO app;
ALTER TABLE ONLY public.project_state ALTER COLUMN id SET DEFAULT nextval('public.project_state_id_seq'::regclass);

COPY public.project_state (id, project_id, current_task_id, current_agent_id, last_action, status, updated_at, metadata) FROM stdin;
1	7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1101	read_tides	data_dev	Assigned read_tides to data_dev	active	2026-02-28 09:00:00+00	\N
2	7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1102	implement_auth	\N	Completed implement_auth	active	2026-02-28 08:00:00.5+00	{"files_modified": 3, "tests_passing": true}
3	7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1101	write_tables	backend_dev	Modified src/tables.py	active	2026-02-28 12:00:00+02	{"files_modified": 4, "path": "c:\\\\x"}
\.

SELECT pg_catalog.setval('public.project_state_id_seq', 3, true);

ALTER TABLE ONLY public.project_state
    ADD CONSTRAINT project_state_pkey PRIMARY KEY (id);

CREATE INDEX idx_project_state_project ON public.project_state USING btree (project_id);
CREATE INDEX idx_project_state_status ON public.project_state USING btree (status);
\unrestrict a1
