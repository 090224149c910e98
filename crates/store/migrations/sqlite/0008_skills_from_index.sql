-- Skills are counted and listed from the index alone.
CREATE INDEX agent_capabilities_listed ON agent_capabilities (skill_name, agent_id, active, version);
DROP INDEX agent_capabilities_by_skill;
