-- Agents of a team. Ids are never given a second time.
CREATE TABLE agents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 255),
    -- Counts the changes to the agent and its capabilities.
    revision INTEGER NOT NULL DEFAULT 0,
    -- Milliseconds since 1970.
    created_at INTEGER NOT NULL
) STRICT;

-- The skills that agents have: one row for each agent and skill.
CREATE TABLE agent_capabilities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id INTEGER NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    skill_name TEXT NOT NULL CHECK (length(skill_name) BETWEEN 1 AND 255),
    version TEXT NOT NULL,
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    -- A JSON object.
    metadata TEXT,
    registered_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (agent_id, skill_name)
) STRICT;
CREATE INDEX agent_capabilities_by_skill ON agent_capabilities (skill_name, agent_id);

-- Counts the changes to the two tables above, for processes that watch them.
CREATE TABLE registry_changes (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO registry_changes (one, revision) VALUES (1, 0);
