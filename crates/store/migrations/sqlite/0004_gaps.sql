-- Every call of every tool that was reported.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    project_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    -- Milliseconds since 1970.
    at INTEGER NOT NULL,
    -- The user by the best name there is; empty if there is none.
    who TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    is_error INTEGER NOT NULL CHECK (is_error IN (0, 1)),
    duration_ms INTEGER NOT NULL,
    user_id TEXT,
    user_email TEXT,
    -- Of the batch it came in.
    batch_user_id TEXT,
    batch_user_email TEXT,
    client TEXT,
    server_version TEXT,
    intent TEXT,
    intent_source TEXT,
    error_message TEXT,
    -- JSON. These may be large, and are read seldom: they come last.
    arguments TEXT NOT NULL,
    result TEXT,
    UNIQUE (project_id, call_id)
) STRICT;
CREATE INDEX events_by_project ON events (project_id, at, who);
CREATE INDEX events_by_time ON events (at);

-- Calls and misses that may hold an ask and were not looked at yet. A ticket is never given twice.
CREATE TABLE waiting (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id TEXT NOT NULL,
    event_id INTEGER UNIQUE REFERENCES events (id) ON DELETE CASCADE,
    miss_id INTEGER UNIQUE REFERENCES misses (id) ON DELETE CASCADE,
    -- When it can be looked at, in milliseconds since 1970.
    due_at INTEGER NOT NULL,
    CHECK ((event_id IS NULL) <> (miss_id IS NULL))
) STRICT;
CREATE INDEX waiting_by_time ON waiting (due_at);
INSERT INTO waiting (project_id, miss_id, due_at) SELECT 'kenning', id, 0 FROM misses;

CREATE TABLE gaps (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    -- A JSON object, without the centroid.
    body TEXT NOT NULL,
    -- Little-endian f32.
    centroid BLOB NOT NULL
) STRICT;
CREATE INDEX gaps_by_project ON gaps (project_id);

-- Which gap was heard from which call or miss, as long as that is kept.
CREATE TABLE asks (
    id INTEGER PRIMARY KEY,
    project_id TEXT NOT NULL,
    gap_id TEXT NOT NULL REFERENCES gaps (id) ON DELETE CASCADE,
    event_id INTEGER UNIQUE REFERENCES events (id) ON DELETE CASCADE,
    miss_id INTEGER UNIQUE REFERENCES misses (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    tool TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    CHECK ((event_id IS NULL) <> (miss_id IS NULL))
) STRICT;
CREATE INDEX asks_by_gap ON asks (gap_id, at);
CREATE INDEX asks_by_project ON asks (project_id);

-- Which tools servers offered, and when they were seen to.
CREATE TABLE offered_tools (
    project_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, tool)
) STRICT;

CREATE TABLE proposals (
    id TEXT PRIMARY KEY,
    proposed_at INTEGER NOT NULL,
    -- A JSON object.
    body TEXT NOT NULL
) STRICT;

-- How often nodes were found, by day.
CREATE TABLE usage (
    node TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- Days since 1970.
    day INTEGER NOT NULL,
    times INTEGER NOT NULL,
    -- Milliseconds since 1970.
    last_at INTEGER NOT NULL,
    PRIMARY KEY (node, kind, day)
) STRICT;
CREATE INDEX usage_by_day ON usage (day);
