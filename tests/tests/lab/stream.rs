//! `bench stream` against `bench serve --stream`: all data sent is received, loss is reported, and other clients are
//! rejected.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use lab::result::{BenchResult, parse_result};
use lab::result_note::NoteSeverity;
use lab::stream::request::StreamReply;
use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait::{until, until_some};

use crate::measured::figure;

fn serve() -> (ChildProcess, String) {
    let mut command = Command::new(program());
    command.args(["bench", "serve", "--stream", "127.0.0.1:0"]);
    let serve = ChildProcess::start(command);
    let end = until_some("it listens", || {
        let said = serve.output();
        said.lines().find_map(|line| line.strip_prefix("streams on ").map(str::to_owned))
    });
    (serve, end)
}

fn stream(end: &str, arguments: &[&str]) -> (i32, BenchResult) {
    let mut command = Command::new(program());
    let output = command.args(["bench", "stream", end, "--json"]).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let result = parse_result(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.status.code().unwrap(), result)
}

// Rows: L01, L02
#[test]
fn the_matrix_is_measured_in_both_directions() {
    let (mut serve, end) = serve();
    let matrix = [
        "--transport",
        "tcp,udp",
        "--direction",
        "to,from",
        "--buffer",
        "64KiB,1MiB",
        "--message",
        "1000",
    ];
    let quick = ["-d", "100ms", "--min-runs", "2", "--max-runs", "2"];
    let (code, result) = stream(&end, &[&matrix[..], &quick[..]].concat());
    assert_eq!(code, 0, "{:?}", result.notes);
    assert_eq!(result.runs.len(), 16, "two carriers, ways, buffers and runs");
    for run in &result.runs {
        assert!(figure(run, "throughput") > 0.0, "{}: {:?}", run.test, run.metrics);
        // The kernel doubles the requested size (socket(7)), up to its limit.
        assert!(figure(run, "send-buffer") >= 128.0 * 1_024.0, "{}", run.test);
        if run.test.starts_with("udp") {
            assert!(
                figure(run, "messages-received") <= figure(run, "messages-sent"),
                "{}",
                run.test
            );
            assert!((0.0..=100.0).contains(&figure(run, "loss")));
        } else {
            assert!(figure(run, "segment") > 500.0);
            assert!(figure(run, "retransmitted") >= 0.0);
        }
    }
    serve.signal(Signal::INT);
    assert_eq!(serve.wait().code(), Some(0));
    until("it tells its sums", || serve.output().contains("16 measurements"));
}

// Rows: L03
#[test]
fn a_mean_that_is_not_known_is_reported_loudly() {
    let (_serve, end) = serve();
    let arguments = ["-d", "50ms", "--min-runs", "2", "--max-runs", "3", "--width", "0.000001"];
    let (code, result) = stream(&end, &arguments);
    assert_eq!((code, result.runs.len()), (0, 3));
    let loud = |note: &lab::result_note::ResultNote| {
        note.weight == NoteSeverity::Warning
            && note.text.contains("`tcp to, buffer auto, message 16384 B`: the mean is NOT known")
            && note.text.contains("% wide, 0.000001 % was wanted")
    };
    assert!(result.notes.iter().any(loud), "{:?}", result.notes);
    let output =
        Command::new(program()).args(["bench", "stream", &end]).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("WARNING: `tcp to") && said.contains(" % !"), "{said}");
}

/// A peer that accepts one command, transfers a megabyte, and closes.
fn dying_end() -> String {
    let control = TcpListener::bind("127.0.0.1:0").unwrap();
    let end = control.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut order, _) = control.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&order).read_line(&mut line).unwrap();
        let data = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = data.local_addr().unwrap().port();
        let answer = serde_json::to_string(&StreamReply::Ready { port, token: 0 }).unwrap();
        order.write_all(format!("{answer}\n").as_bytes()).unwrap();
        let mut data = data.accept().unwrap().0;
        let mut megabyte = vec![0; 1 << 20];
        if line.contains("\"from\"") {
            data.write_all(&megabyte).unwrap();
        } else {
            data.read_exact(&mut megabyte).unwrap();
        }
    });
    end
}

#[test]
fn an_end_that_dies_leaves_what_had_passed() {
    let dir = TestDir::new();
    let page = dir.join("page.html").display().to_string();
    let matrix = ["--message", "1000,2000", "--buffer", "64KiB,1MiB", "-d", "5s"];
    let more = [&matrix[..], &["--html", &page]].concat();
    let (code, result) = stream(&dying_end(), &more);
    assert_eq!((code, result.complete, result.runs.len()), (3, false, 4), "{:?}", result.notes);
    let [first, never @ ..] = &result.runs[..] else { unreachable!() };
    assert!(!first.complete && figure(first, "sent") > 0.0, "{first:?}");
    assert!(first.metrics.iter().all(|metric| metric.name != "throughput"), "{first:?}");
    assert!(never.iter().all(|run| !run.complete && run.metrics.is_empty()), "{never:?}");
    let says = |begins: &str, word: &str| {
        let mut notes = result.notes.iter().filter(|note| note.weight == NoteSeverity::Partial);
        notes.any(|note| note.text.starts_with(begins) && note.text.contains(word))
    };
    assert!(
        says("`tcp to, buffer 65536 B, message 1000 B`", " bytes: the run broke off"),
        "{result:?}"
    );
    assert!(says("`tcp to, buffer 1048576 B, message 2000 B`", "cannot be reached"), "{result:?}");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page.matches(">not measured<").count(), 4, "{page}");
    assert_eq!(page.matches("<polygon").count(), 0);

    let (code, result) = stream(&dying_end(), &["--direction", "from", "-d", "5s"]);
    let [run] = &result.runs[..] else { panic!("{result:?}") };
    assert!(code == 3 && !run.complete && figure(run, "throughput") > 0.0, "{run:?}");
    assert!(result.notes[0].text.contains("after 1048576 bytes"), "{:?}", result.notes);

    let output = Command::new(program())
        .args(["bench", "stream", &dying_end()])
        .args(matrix)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(said.matches("not measured").count(), 4, "{said}");
}

#[test]
fn ends_that_are_none_and_orders_that_are_none() {
    let (serve, end) = serve();
    let mut other = TcpStream::connect(&end).unwrap();
    other.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut said = String::new();
    other.read_to_string(&mut said).unwrap();
    assert!(said.contains("refused") && said.contains("no order"), "{said}");
    drop(serve);
    for (arguments, reason) in [
        (&[end.as_str()][..], "cannot be reached"),
        (&[end.as_str(), "--transport", "udp", "--message", "65508"], "expected 16 to 65507"),
        (&[end.as_str(), "--buffer", "1B"], "expected 1KiB"),
    ] {
        let output =
            Command::new(program()).args(["bench", "stream"]).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{arguments:?}: {said}");
    }
}
