-- Logins without case. A server folds those of users beyond ASCII when it starts; earlier versions leave NULL.
ALTER TABLE users ADD COLUMN login_folded TEXT;
UPDATE users SET login_folded = lower(login_id COLLATE "C") WHERE octet_length(login_id) = length(login_id);
CREATE INDEX users_by_folded_login ON users (tenant_id, login_folded) WHERE NOT is_deleted;

-- Only tasks of logins that the directory does not know are found by it.
ALTER TABLE tasks ADD COLUMN assignee_login_folded TEXT;
UPDATE tasks SET assignee_login_folded = lower(assignee_login_id COLLATE "C")
    WHERE assignee_user_id IS NULL AND octet_length(assignee_login_id) = length(assignee_login_id);
CREATE INDEX tasks_of_unknown_folded_logins ON tasks (tenant_id, assignee_login_folded) WHERE assignee_user_id IS NULL;
