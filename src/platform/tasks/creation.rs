//! Creation of tasks, one or many at once.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{
    forms::{BatchResult, CreatedTask, FailedTask, NewTask, Task, TaskForm, TaskStatus, spread_times},
    repo::{self, CreationOutcome},
};
use crate::{
    auth::caller::Caller,
    error::{Error, Result},
    index_progress::BulkGate,
    json,
    store::{BatchedWrites, Store, now_millis},
};

const OTHER_CONTENT: &str = "appTaskId: this application has a task of this id with other content; send the same content or another appTaskId";

/// Creates tasks.
pub struct TaskCreations {
    store: Store,
    bulk: BulkGate,
    /// Single creations, which concurrent requests of an application share.
    single: Arc<BatchedWrites<NewTask, CreationOutcome>>,
}

impl TaskCreations {
    pub(crate) fn new(store: Store, bulk: BulkGate) -> Self {
        let single = BatchedWrites::new(store.clone(), |transaction, tenant_id, application, new| {
            Box::pin(repo::create(transaction, tenant_id, application, new))
        });
        Self { store, bulk, single: Arc::new(single) }
    }

    /// Creates a task, or finds the equal one of an earlier request.
    pub(super) async fn create_one(
        &self,
        caller: &Caller,
        form: TaskForm,
        task: Task,
    ) -> Result<CreatedTask> {
        let (task, status) = task.checked(form).map_err(Error::bad_request)?;
        let new = NewTask::new(task, status, now_millis())?;
        match self.single.write(caller.tenant.id, &caller.client_id, new).await? {
            CreationOutcome::There(created) => Ok(created),
            CreationOutcome::Other(_) => Err(Error::conflict(OTHER_CONTENT)),
        }
    }

    /// Creates the valid items of a batch; durable and visible together.
    pub(super) async fn create_batch(
        &self,
        caller: &Caller,
        form: TaskForm,
        items: &[Box<RawValue>],
    ) -> Result<BatchResult> {
        let mut new = Vec::with_capacity(items.len());
        let mut read = Vec::with_capacity(items.len());
        for (raw, created_at) in items.iter().zip(spread_times(items.len(), now_millis())) {
            read.push(match read_task(raw, form) {
                Ok((task, status)) => {
                    let app_task_id = task.app_task_id.clone();
                    new.push(NewTask::new(task, status, created_at)?);
                    Ok(app_task_id)
                }
                Err(failed) => Err(failed),
            });
        }
        let mut creations = if new.is_empty() {
            Vec::new()
        } else {
            self.bulk.wait_for_room(new.len()).await?;
            self.create(caller, new).await?
        }
        .into_iter();
        let mut result = BatchResult::default();
        for one in read {
            match one {
                Err(failed) => result.error.push(failed),
                Ok(app_task_id) => match creations.next() {
                    Some(CreationOutcome::There(created)) => result.success.push(created),
                    Some(CreationOutcome::Other(id)) => {
                        let message = OTHER_CONTENT.to_owned();
                        result.error.push(FailedTask { id: Some(id), message, app_task_id });
                    }
                    None => return Err(Error::internal("creating a task returned no outcome")),
                },
            }
        }
        Ok(result)
    }

    async fn create(&self, caller: &Caller, new: Vec<NewTask>) -> Result<Vec<CreationOutcome>> {
        let (tenant_id, application) = (caller.tenant.id, Arc::clone(&caller.client_id));
        let created = self.store.write_for(tenant_id, move |transaction| {
            Box::pin(async move { repo::create(transaction, tenant_id, &application, &new).await })
        });
        created.await
    }
}

fn read_task(raw: &RawValue, form: TaskForm) -> Result<(Task, TaskStatus), FailedTask> {
    let failed = |app_task_id: String, message| FailedTask { id: None, message, app_task_id };
    let task: Task = json::read_object(raw.get().as_bytes())
        .map_err(|message| failed(json::field_as_text(raw, "appTaskId"), message))?;
    let app_task_id = task.app_task_id.clone();
    task.checked(form).map_err(|message| failed(app_task_id, message))
}
