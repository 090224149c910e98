-- A miss is a property of a recorded call: the query that one of our own tools found nothing for.
-- NULL for all other calls.
ALTER TABLE events ADD COLUMN missed TEXT;
CREATE INDEX events_missed ON events (at) WHERE missed IS NOT NULL;

-- Misses that were recorded without their call become calls without a user or a result.
INSERT INTO events (project_id, call_id, at, who, tool_name, is_error, duration_ms, arguments, missed)
    SELECT 'kenning', 'miss-' || id, asked_at * 1000, '', tool, FALSE, 0, '{}', query FROM misses;

UPDATE waiting SET event_id = e.id, miss_id = NULL FROM events e
    WHERE e.project_id = 'kenning' AND e.call_id = 'miss-' || waiting.miss_id;
UPDATE asks SET event_id = e.id, miss_id = NULL FROM events e
    WHERE e.project_id = 'kenning' AND e.call_id = 'miss-' || asks.miss_id;
-- The checks on both columns go with `miss_id`.
ALTER TABLE waiting DROP COLUMN miss_id, ALTER COLUMN event_id SET NOT NULL;
ALTER TABLE asks DROP COLUMN miss_id, ALTER COLUMN event_id SET NOT NULL;

DROP TABLE misses;
