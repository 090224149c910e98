-- What lists are filtered and ordered by, out of the body, so that a page of many gaps is read and
-- not all of them.
ALTER TABLE gaps ADD COLUMN standing TEXT COLLATE "C" NOT NULL DEFAULT 'open';
ALTER TABLE gaps ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT '';
-- Whether somebody asked for it by name: 0 or 1.
ALTER TABLE gaps ADD COLUMN by_name BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gaps ADD COLUMN asked BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gaps ADD COLUMN requests BIGINT NOT NULL DEFAULT 0;
ALTER TABLE gaps ADD COLUMN last_asked BIGINT NOT NULL DEFAULT 0;
-- Empty unless it was merged into another.
ALTER TABLE gaps ADD COLUMN merged_into TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE gaps SET
    standing = CASE body::json #>> '{status,state}'
        WHEN 'reopened' THEN 'open' ELSE body::json #>> '{status,state}' END,
    kind = body::json ->> 'kind',
    by_name = CASE WHEN (body::json ->> 'requests')::bigint > 0 THEN 1 ELSE 0 END,
    asked = (body::json ->> 'asks')::bigint,
    requests = (body::json ->> 'requests')::bigint,
    last_asked = (body::json ->> 'lastAsked')::bigint,
    merged_into = coalesce(body::json #>> '{status,into}', '');
CREATE INDEX gaps_by_rank
    ON gaps (standing, by_name DESC, asked DESC, requests DESC, last_asked DESC, id, project_id, kind);
CREATE INDEX gaps_by_rank_in_project
    ON gaps (project_id, standing, by_name DESC, asked DESC, requests DESC, last_asked DESC, id, kind);
CREATE INDEX gaps_by_merge ON gaps (merged_into) WHERE merged_into <> '';
DROP INDEX gaps_by_project;
