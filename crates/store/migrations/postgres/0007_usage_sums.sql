-- Sums over days are read from the index alone.
CREATE INDEX usage_sums ON usage (node, kind, day, times, last_at);
