-- Vectors by model and by the text they were computed from.
CREATE TABLE embeddings (
    model TEXT NOT NULL,
    text_key BLOB NOT NULL CHECK (length(text_key) = 16),
    -- Pairs of little-endian u32: where each window of the text starts and ends.
    windows BLOB NOT NULL,
    -- Little-endian f32, window after window.
    vectors BLOB NOT NULL,
    PRIMARY KEY (model, text_key)
) STRICT;

-- Tasks for which nothing was known.
CREATE TABLE misses (
    id INTEGER PRIMARY KEY,
    tool TEXT NOT NULL,
    query TEXT NOT NULL,
    asked_at INTEGER NOT NULL
) STRICT;
CREATE INDEX misses_by_time ON misses (asked_at);
