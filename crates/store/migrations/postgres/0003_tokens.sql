-- Who may come in from other machines.
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 255),
    scope TEXT NOT NULL,
    -- The project that it may send events for, if it is only for that.
    project TEXT,
    -- Of the secret, which is kept nowhere.
    hash TEXT NOT NULL,
    -- Milliseconds since 1970.
    created_at BIGINT NOT NULL
);
