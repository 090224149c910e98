-- What lists are filtered and ordered by, out of the body, so that a page of many gaps is read and
-- not all of them.
ALTER TABLE gaps ADD COLUMN standing TEXT NOT NULL DEFAULT 'open';
ALTER TABLE gaps ADD COLUMN kind TEXT NOT NULL DEFAULT '';
-- Whether somebody asked for it by name: 0 or 1.
ALTER TABLE gaps ADD COLUMN by_name INTEGER NOT NULL DEFAULT 0;
ALTER TABLE gaps ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE gaps ADD COLUMN requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE gaps ADD COLUMN last_asked INTEGER NOT NULL DEFAULT 0;
-- Empty unless it was merged into another.
ALTER TABLE gaps ADD COLUMN merged_into TEXT NOT NULL DEFAULT '';
UPDATE gaps SET
    standing = CASE json_extract(body, '$.status.state')
        WHEN 'reopened' THEN 'open' ELSE json_extract(body, '$.status.state') END,
    kind = json_extract(body, '$.kind'),
    by_name = json_extract(body, '$.requests') > 0,
    asked = json_extract(body, '$.asks'),
    requests = json_extract(body, '$.requests'),
    last_asked = json_extract(body, '$.lastAsked'),
    merged_into = coalesce(json_extract(body, '$.status.into'), '');
CREATE INDEX gaps_by_rank
    ON gaps (standing, by_name DESC, asked DESC, requests DESC, last_asked DESC, id, project_id, kind);
CREATE INDEX gaps_by_rank_in_project
    ON gaps (project_id, standing, by_name DESC, asked DESC, requests DESC, last_asked DESC, id, kind);
CREATE INDEX gaps_by_merge ON gaps (merged_into) WHERE merged_into <> '';
DROP INDEX gaps_by_project;
