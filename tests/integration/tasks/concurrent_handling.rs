use std::{collections::BTreeMap, pin::pin};

use crate::util::{
    callback::{Callback, CallbackReply},
    eventually,
    quick_handling::{Desk, READ, TO_READ, set_status, to_read},
};

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_share_one_callback_and_one_effect() {
    let desk = Desk::start().await;
    let (reply, held) = CallbackReply::held(200);
    let callback = Callback::start(reply).await;
    let id = desk.create(&to_read("t1", &callback.url)).await;
    let pressing: Vec<_> = (0..20).map(|_| desk.pressing(&id)).collect();
    callback.wait_for_calls(1).await;
    held.close();
    let mut answers = BTreeMap::<u16, usize>::new();
    for pressed in pressing {
        let answer = pressed.await.unwrap();
        // The others have ended.
        let is_late = answer.message().starts_with("this task is read");
        assert!(answer.status == 200 || is_late, "{}", answer.text);
        *answers.entry(answer.status).or_default() += 1;
    }
    assert!(answers[&200] >= 1 && answers.keys().all(|status| [200, 409].contains(status)), "{answers:?}");
    desk.assert_state(&id, READ).await;
    assert_eq!((callback.connections(), desk.log(&id).await.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_sharing_a_failed_callback_all_fail_unchanged() {
    let desk = Desk::start().await;
    let callback = Callback::start(CallbackReply::Status(500)).await;
    let id = desk.create(&to_read("t1", &callback.url)).await;
    let pressing: Vec<_> = (0..20).map(|_| desk.pressing(&id)).collect();
    for pressed in pressing {
        pressed.await.unwrap().fails(502, "the callback answered with HTTP 500");
    }
    desk.assert_state(&id, TO_READ).await;
    let log = desk.log(&id).await;
    assert_eq!(log.len(), callback.calls().len());
    assert!(log.iter().all(|handled| handled.outcome == "failed"), "{log:?}");
}

#[tokio::test]
async fn disconnected_caller_does_not_cut_the_handling() {
    let desk = Desk::start().await;
    let (reply, held) = CallbackReply::held(200);
    let callback = Callback::start(reply).await;
    let id = desk.create(&to_read("t1", &callback.url)).await;
    let pressing = desk.pressing(&id);
    callback.wait_for_calls(1).await;
    assert_eq!(desk.log(&id).await[0].outcome, "begun");
    pressing.abort();
    assert!(pressing.await.unwrap_err().is_cancelled());
    held.close();
    eventually("the end of the call", async || (desk.log(&id).await[0].outcome == "succeeded").then_some(()))
        .await;
    desk.assert_state(&id, READ).await;
}

#[tokio::test]
async fn move_during_the_callback_stands() {
    let desk = Desk::start().await;
    for (number, (meanwhile, answer, outcome, named)) in [
        (READ, 200, "succeeded", ""),
        (5, 409, "failed", "withdrawn"),
        (3, 404, "failed", "paused"),
        (6, 404, "failed", "removed"),
    ]
    .into_iter()
    .enumerate()
    {
        let (reply, held) = CallbackReply::held(200);
        let callback = Callback::start(reply).await;
        let id = desk.create(&to_read(&format!("t{number}"), &callback.url)).await;
        let pressing = desk.pressing(&id);
        callback.wait_for_calls(1).await;
        set_status(&desk.app, &id, meanwhile).await;
        held.close();
        assert_eq!(pressing.await.unwrap().status, answer, "{meanwhile}");
        assert_eq!(desk.status(&id).await, meanwhile);
        let [handled] = &desk.log(&id).await[..] else { panic!("not one row") };
        assert_eq!(handled.outcome, outcome);
        assert!(handled.message.as_deref().unwrap_or_default().contains(named), "{handled:?}");
        assert_eq!(callback.calls().len(), 1);
    }
}

#[tokio::test]
async fn shutdown_completes_handling_in_flight() {
    let desk = Desk::start().await;
    let (reply, held) = CallbackReply::held(200);
    let callback = Callback::start(reply).await;
    let id = desk.create(&to_read("t1", &callback.url)).await;
    let second = desk.create(&to_read("t2", &callback.url)).await;
    let pressing = desk.pressing(&id);
    callback.wait_for_calls(1).await;
    let quick_deals = &desk.app.app.quick_deals;
    let mut stopping = pin!(quick_deals.stop());
    assert!(futures::poll!(stopping.as_mut()).is_pending());
    desk.press(&second).await.fails(503, "the server is stopping");
    held.close();
    stopping.await;
    assert_eq!(desk.log(&id).await[0].outcome, "succeeded");
    pressing.await.unwrap().ok();
    assert_eq!(callback.connections(), 1);
}
