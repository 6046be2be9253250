-- The audit is filtered by time, object and person.
CREATE INDEX audit_by_time ON audit (at, position);
CREATE INDEX audit_by_object ON audit (object_id, position);
CREATE INDEX audit_by_person ON audit (user_id, position) WHERE user_id IS NOT NULL;
