use super::*;

fn task() -> Task {
    Task {
        app_task_id: "1".to_owned(),
        title: "Approve".to_owned(),
        assignee_login_id: "mei".to_owned(),
        ..Task::default()
    }
}

#[test]
fn missing_fields_get_defaults() {
    let (to_do, status) = task().checked(TaskForm::ToDo).unwrap();
    assert_eq!((to_do.status, to_do.degree, to_do.quick_deal), (Some(0), Some(0), Some(true)));
    assert_eq!(status, TaskStatus::ToDo);
    let (done, status) = task().checked(TaskForm::Done).unwrap();
    assert_eq!((done.status, status), (Some(1), TaskStatus::Done));
}

#[test]
fn each_form_accepts_its_statuses() {
    for (form, states) in [(TaskForm::ToDo, [0, 2].as_slice()), (TaskForm::Done, &[1, 4, 5])] {
        for number in -1..8 {
            let checked = Task { status: Some(number), ..task() }.checked(form);
            assert_eq!(checked.is_ok(), states.contains(&number), "{form:?} {number}");
            match checked {
                Ok((_, status)) => assert_eq!(status.number(), number),
                Err(reason) => assert!(reason.starts_with("status: must be "), "{reason}"),
            }
        }
    }
}

#[test]
fn end_remarks_are_kept_in_done_form_only() {
    let remarks = Task { end_comment: Some("c".to_owned()), end_result: Some("r".to_owned()), ..task() };
    let (to_do, _) = remarks.clone().checked(TaskForm::ToDo).unwrap();
    assert_eq!(to_do, task().checked(TaskForm::ToDo).unwrap().0);
    let (done, _) = remarks.checked(TaskForm::Done).unwrap();
    assert_eq!((done.end_comment.as_deref(), done.end_result.as_deref()), (Some("c"), Some("r")));
}

#[test]
fn each_invalid_field_is_named_in_error() {
    let wrong = |change: fn(&mut Task)| {
        let mut task = task();
        change(&mut task);
        task.checked(TaskForm::Done).unwrap_err()
    };
    assert!(wrong(|task| task.app_task_id.clear()).starts_with("appTaskId:"));
    assert!(wrong(|task| task.title = " ".to_owned()).starts_with("title:"));
    assert!(wrong(|task| task.assignee_login_id.clear()).starts_with("assigneeLoginId:"));
    assert!(wrong(|task| task.status = Some(0)).starts_with("status:"));
    assert!(wrong(|task| task.degree = Some(3)).starts_with("degree:"));
    assert!(wrong(|task| task.app_data = Some("[]".to_owned())).starts_with("appData:"));
    assert!(wrong(|task| task.tags = Some("{}".to_owned())).starts_with("tags:"));
    assert!(wrong(|task| task.action = Some("open".to_owned())).starts_with("action:"));
    assert!(wrong(|task| task.action = Some(r#"{"pc":"url=x"}"#.to_owned())).contains("begins with neither"));
    assert!(wrong(|task| task.source = Some("x".repeat(257))).starts_with("source:"));
    assert!(wrong(|task| task.app_task_id = "a\0b".to_owned()).starts_with("appTaskId:"));
    assert!(wrong(|task| task.creator_id = Some("a\nb".to_owned())).starts_with("creatorId:"));
    assert!(wrong(|task| task.end_comment = Some("x".repeat((64 << 10) + 1))).starts_with("endComment:"));
    for address in
        ["x", "/handled", "ftp://a/", "http://", "https://u:p@a/", "http://a/\u{1}", "javascript:x"]
    {
        let reason = Task { quick_deal_callback: Some(address.to_owned()), ..task() }.checked(TaskForm::ToDo);
        assert!(reason.unwrap_err().starts_with("quickDealCallback:"), "{address:?}");
    }
}

#[test]
fn valid_fields_are_kept_and_empty_texts_dropped() {
    let full = Task {
        app_data: Some(r#"{"a": [1]}"#.to_owned()),
        tags: Some(r#"["finance"]"#.to_owned()),
        action: Some(r#"{"web": "[OpenUrl]\nurl=https://a.example/1"}"#.to_owned()),
        quick_deal_callback: Some("http://intranet:8080/handled?x=1".to_owned()),
        ..task()
    };
    full.checked(TaskForm::ToDo).unwrap();
    let empty = || Some(String::new());
    let empty = Task {
        source: empty(),
        app_data: empty(),
        tags: empty(),
        action: empty(),
        quick_deal_callback: empty(),
        ..task()
    };
    assert_eq!(empty.checked(TaskForm::ToDo), task().checked(TaskForm::ToDo));
}

#[test]
fn same_content_is_distinguished_from_other() {
    let (checked, status) = task().checked(TaskForm::ToDo).unwrap();
    let new = NewTask::new(checked.clone(), status, 1).unwrap();
    assert!(new.is_same(&new.text).unwrap());
    assert!(new.is_same(&format!(" {}", new.text)).unwrap());
    let other = Task { degree: Some(1), ..checked };
    assert!(!new.is_same(&serde_json::to_string(&other).unwrap()).unwrap());
    assert!(new.is_same("{").is_err());
}

#[test]
fn ending_is_bounded_and_empty_text_dropped() {
    let long = || Some("x".repeat((64 << 10) + 1));
    assert!(Ending::checked(long(), None).unwrap_err().starts_with("endComment:"));
    assert!(Ending::checked(None, long()).unwrap_err().starts_with("endResult:"));
    assert_eq!(Ending::checked(Some(String::new()), None), Ok(Ending::default()));
}

#[test]
fn batch_times_are_distinct() {
    assert_eq!(spread_times(3, 10).collect::<Vec<_>>(), [8, 9, 10]);
}
