//! Targets that refuse, die, stall or send garbage, and full disks: no measurement is lost, and partial results are
//! marked as such.

use lab::origin::{OriginFault, OriginKind, OriginOptions, TestOrigin};
use lab::port::ReservedPort;
use lab::result::parse_result;
use rustix::process::Signal;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait::until;

use crate::measured::{command, failing, figure, said};

fn origin() -> TestOrigin {
    TestOrigin::start(OriginOptions::new("a", OriginKind::Http { body: 128 })).unwrap()
}

fn url(origin: &TestOrigin) -> String {
    format!("http://{}/", origin.address())
}

#[test]
fn a_target_that_refuses() {
    let nobody = ReservedPort::new([127, 0, 0, 1].into()).unwrap();
    let url = format!("http://{}/", nobody.address());
    let (code, result) = failing(&[&url, "-n", "20", "-c", "2"]);
    assert_eq!(code, 3);
    let run = &result.runs[0];
    assert!(!result.complete && !run.complete);
    assert_eq!(run.failed["connect-refused"], 20);
    assert!(result.notes.iter().any(|note| note.text.contains("nothing was answered")));
}

#[test]
fn a_target_that_dies_in_the_middle() {
    let origin = origin();
    let dir = TestDir::new();
    let file = dir.join("result.json");
    let name = file.display().to_string();
    let mut bench =
        ChildProcess::start(command(&[&url(&origin), "--rate", "500", "-d", "4s", "-o", &name]));
    until("requests arrive", || origin.figures().requests > 200);
    origin.kill().unwrap();
    assert_eq!(bench.wait().code(), Some(3), "{}", bench.output());
    until("it says that it is partial", || bench.output().contains("partial"));
    let result = parse_result(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let run = &result.runs[0];
    assert!(figure(run, "answered") >= 200.0, "what was measured before is there");
    assert!(run.failed["connect-refused"] > 0, "{:?}", run.failed);
    assert!(!result.complete && !run.complete);
    let parts = figure(run, "answered") + figure(run, "failed");
    assert_eq!(parts, figure(run, "requests"), "every request is in exactly one count");
}

#[test]
fn a_target_that_answers_garbage() {
    let origin = origin();
    for (fault, cause) in
        [(OriginFault::Garbage, "bad-answer"), (OriginFault::Status(503), "status-5xx")]
    {
        origin.set_fault(Some(fault)).unwrap();
        let (code, result) = failing(&[&url(&origin), "-n", "30", "-c", "3"]);
        assert_eq!(code, 3, "{cause}");
        assert_eq!(result.runs[0].failed[cause], 30, "{:?}", result.runs[0].failed);
    }
}

#[test]
fn a_rate_that_cannot_be_reached() {
    let origin = origin();
    let at = format!("http://{}/delay/200", origin.address());
    // Two connections achieve ten requests a second.
    let (code, result) = failing(&[&at, "--rate", "200", "-c", "2", "-d", "2s", "--timeout", "1s"]);
    assert_eq!(code, 3);
    assert!(
        result.notes.iter().any(|note| note.text.contains("was not reached")),
        "{:?}",
        result.notes
    );
    let run = &result.runs[0];
    assert_eq!(figure(run, "requests"), 400.0, "the schedule does not give way");
    assert!(run.failed["not-sent-in-time"] > 0, "{:?}", run.failed);
}

#[test]
fn a_rate_that_is_answered_too_late_was_not_reached() {
    let origin = origin();
    let at = format!("http://{}/delay/50", origin.address());
    // Two connections achieve forty requests a second. After another second everything is answered, but the rate was
    // too high.
    let (code, result) = failing(&[&at, "--rate", "60", "-c", "2", "-d", "2s"]);
    let run = &result.runs[0];
    assert_eq!((code, run.complete, figure(run, "answered")), (3, false, 120.0));
    let text = "still waited for a connection";
    assert!(result.notes.iter().any(|note| note.text.contains(text)), "{:?}", result.notes);
    assert!(figure(run, "rate") < 45.0, "answers of the second after the last start are no rate");
    assert!(figure(run, "time") > 2.5);
}

#[test]
fn a_search_that_nobody_answers_is_no_answer() {
    let nobody = ReservedPort::new([127, 0, 0, 1].into()).unwrap();
    let url = format!("http://{}/", nobody.address());
    let search =
        ["--find-capacity", "--objective", "p50 < 1s", "--search-from", "200", "-d", "100ms"];
    let (code, result) = failing(&[&[url.as_str()], &search[..]].concat());
    assert_eq!((code, result.complete), (3, false));
    let text = "nothing was answered at any rate: connect-refused";
    assert!(result.notes.iter().any(|note| note.text == text), "{:?}", result.notes);
    assert_eq!(result.search.unwrap().held, None);
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let origin = origin();
    let dir = TestDir::new();
    let file = dir.join("result.json");
    let name = file.display().to_string();
    let mut bench =
        ChildProcess::start(command(&[&url(&origin), "-d", "10m", "--repeat", "3", "-o", &name]));
    until("requests arrive", || origin.figures().requests > 200);
    bench.signal(Signal::INT);
    assert_eq!(bench.wait().code(), Some(3), "{}", bench.output());
    let result = parse_result(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(result.runs.len(), 1);
    assert!(figure(&result.runs[0], "answered") > 100.0 && !result.runs[0].complete);
    assert!(result.notes.iter().any(|note| note.text.contains("stopped before repeat 2")));
}

#[test]
fn a_full_disk_loses_nothing() {
    let origin = origin();
    let (code, said) = said(&[&url(&origin), "-n", "50", "-o", "/dev/full"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("could not be written") && said.contains("\"answered\""), "{said}");
    // An unwritable output path is detected before anything is measured.
    let before = origin.figures().requests;
    let (code, said) =
        crate::measured::said(&[&url(&origin), "-n", "50", "-o", "/nonexistent/x.json"]);
    assert_eq!(code, 2, "{said}");
    assert_eq!(origin.figures().requests, before);
}

#[test]
fn orders_that_make_no_sense_are_refused_with_their_reason() {
    for (arguments, reason) in [
        (&["ftp://x/"][..], "scheme"),
        (&["http://127.0.0.1:1/", "--rate", "5..1/1"], "no steps"),
        (&["http://127.0.0.1:1/", "-c", "1", "-t", "2"], "connections must be"),
        (&["http://127.0.0.1:1/", "--from", "::1"], "family"),
        (&["http://127.0.0.1:1/", "-H", "nothing"], "Name: value"),
        (&["http://127.0.0.1:1/", "--scenario", "/nonexistent"], "cannot read"),
        (&["http://127.0.0.1:1/", "--find-capacity"], "--objective"),
        (&["http://127.0.0.1:1/", "--objective", "fast"], "objective"),
    ] {
        let (code, said) = said(arguments);
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.contains(reason), "{arguments:?}: {said}");
    }
}
