-- What was registered of late is asked for after every change.
CREATE INDEX agent_capabilities_by_change ON agent_capabilities (updated_at);
