//! The queue of password checks: answers, limits and the end.

use std::sync::mpsc;
use std::time::Duration;

use credentials::password_file::DecoyKey;

use super::*;

/// More than any check takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn question(name: &str, password: &str, client: &str) -> PasswordQuestion {
    let text = "ann:$apr1$x$16j9.5e7KiXmuYFAYpPJM/";
    let credentials =
        BasicCredentials { name: name.to_owned(), password: password.as_bytes().to_vec() };
    PasswordQuestion {
        file: Arc::new(PasswordFile::parse(text, DecoyKey { low: 1, high: 2 }).unwrap()),
        credentials,
        client: client.parse().unwrap(),
        on_answer: Box::new(|| {}),
    }
}

#[test]
fn each_check_gets_its_answer_and_whoever_asked_is_woken() {
    let checks = Arc::new(PasswordChecks::default());
    for [name, password, expected] in
        [["ann", "a", "right"], ["ann", "b", "wrong"], ["bob", "a", "wrong"]]
    {
        let channel = mpsc::channel();
        let sender = channel.0;
        let on_answer = Box::new(move || sender.send(()).unwrap());
        let asked = PasswordQuestion { on_answer, ..question(name, password, "192.0.2.1") };
        let answer = checks.submit(asked).unwrap();
        channel.1.recv_timeout(PATIENCE).unwrap();
        assert_eq!(answer.get(), Some(expected == "right"), "{name}, {password}");
    }
    checks.stop();
    assert!(checks.submit(question("ann", "a", "192.0.2.1")).is_err());
}

#[test]
fn the_queue_and_the_share_of_a_client_are_bounded() {
    // The threads wait for the lock that this test holds while it fills the queue: none runs.
    let checks = Arc::new(PasswordChecks::default());
    checks.lock().threads = MAX_THREADS;
    let mut kept = Vec::new();
    let mut ask =
        |client: &str| checks.submit(question("ann", "a", client)).map(|it| kept.push(it));
    for _ in 0..MAX_OF_CLIENT {
        assert!(ask("192.0.2.1").is_ok());
    }
    assert_eq!(ask("192.0.2.1"), Err(QueueFullError));
    assert!(ask("2001:db8::1").is_ok());
    for at in 1..MAX_WAITING - MAX_OF_CLIENT as usize {
        let client = format!("198.51.{}.{}", at / 250, at % 250);
        assert!(ask(&client).is_ok(), "{client}");
    }
    assert_eq!(ask("203.0.113.1"), Err(QueueFullError));
}

#[test]
fn what_nobody_waits_for_is_not_done_and_gives_its_share_back() {
    let checks = Arc::new(PasswordChecks::default());
    checks.lock().threads = MAX_THREADS;
    for _ in 0..MAX_OF_CLIENT {
        drop(checks.submit(question("ann", "a", "192.0.2.1")).unwrap());
    }
    assert!(checks.submit(question("ann", "a", "192.0.2.1")).is_err());
    checks.lock().threads = 0;
    let channel = mpsc::channel();
    let sender = channel.0;
    let on_answer = Box::new(move || sender.send(()).unwrap());
    let last = PasswordQuestion { on_answer, ..question("ann", "a", "192.0.2.2") };
    let answer = checks.submit(last).unwrap();
    channel.1.recv_timeout(PATIENCE).unwrap();
    assert_eq!(answer.get(), Some(true));
    assert!(checks.submit(question("ann", "a", "192.0.2.1")).is_ok());
    checks.stop();
}
