-- A miss is a property of a recorded call: the query that one of our own tools found nothing for.
-- NULL for all other calls, which SQLite reads from the row's header, before the large columns.
ALTER TABLE events ADD COLUMN missed TEXT;
CREATE INDEX events_missed ON events (at) WHERE missed IS NOT NULL;

-- Misses that were recorded without their call become calls without a user or a result.
INSERT INTO events (project_id, call_id, at, who, tool_name, is_error, duration_ms, arguments, missed)
    SELECT 'kenning', 'miss-' || id, asked_at * 1000, '', tool, 0, 0, '{}', query FROM misses;

CREATE TABLE new_waiting (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id TEXT NOT NULL,
    event_id INTEGER NOT NULL UNIQUE REFERENCES events (id) ON DELETE CASCADE,
    -- When its ask can be extracted, in milliseconds since 1970.
    due_at INTEGER NOT NULL
) STRICT;
INSERT INTO new_waiting (id, project_id, event_id, due_at)
    SELECT w.id, w.project_id, coalesce(w.event_id, e.id), w.due_at FROM waiting w
    LEFT JOIN events e ON e.project_id = 'kenning' AND e.call_id = 'miss-' || w.miss_id;
-- An id is never given twice, even if no row is left.
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'new_waiting', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'new_waiting');
UPDATE sqlite_sequence SET seq = coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'waiting'), 0)
    WHERE name = 'new_waiting';
DROP TABLE waiting;
ALTER TABLE new_waiting RENAME TO waiting;
CREATE INDEX waiting_by_time ON waiting (due_at);

CREATE TABLE new_asks (
    id INTEGER PRIMARY KEY,
    project_id TEXT NOT NULL,
    gap_id TEXT NOT NULL REFERENCES gaps (id) ON DELETE CASCADE,
    event_id INTEGER NOT NULL UNIQUE REFERENCES events (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    tool TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
INSERT INTO new_asks (id, project_id, gap_id, event_id, kind, tool, text, at)
    SELECT a.id, a.project_id, a.gap_id, coalesce(a.event_id, e.id), a.kind, a.tool, a.text, a.at
    FROM asks a LEFT JOIN events e ON e.project_id = 'kenning' AND e.call_id = 'miss-' || a.miss_id;
DROP TABLE asks;
ALTER TABLE new_asks RENAME TO asks;
CREATE INDEX asks_by_gap ON asks (gap_id, at);
CREATE INDEX asks_by_project ON asks (project_id);

DROP TABLE misses;
