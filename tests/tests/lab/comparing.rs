//! `compare`: exit codes and messages, for files with planted differences.

use std::path::Path;
use std::process::Command;

use lab::result::{BenchMetric, BenchResult, BenchRun, MetricDirection, ResultProvenance};
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;

fn write(dir: &TestDir, name: &str, values: &[f64]) -> String {
    write_made(dir, name, values, ResultProvenance::default())
}

fn write_made(dir: &TestDir, name: &str, values: &[f64], made: ResultProvenance) -> String {
    let mut result = BenchResult::new("http", made);
    for (at, value) in values.iter().enumerate() {
        let metrics = vec![BenchMetric::new("rate", "requests/s", MetricDirection::More, *value)];
        let test = "10 connections".to_owned();
        let repeat = at as u32 + 1;
        result.runs.push(BenchRun { test, repeat, complete: true, metrics, ..BenchRun::default() });
    }
    let text = serde_json::to_string(&result).unwrap();
    dir.write(name, text).display().to_string()
}

fn compare(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(program()).arg("compare").args(arguments).output().unwrap();
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code().unwrap(), String::from_utf8_lossy(&text).into_owned())
}

// Rows: L10
#[test]
fn regressions_are_reported_by_the_exit_code() {
    let dir = TestDir::new();
    let spread: Vec<f64> = (0..10).map(|n| 1_000.0 + f64::from(n * 7 % 10)).collect();
    let slower: Vec<f64> = spread.iter().map(|value| value * 0.97).collect();
    let base = write(&dir, "base", &spread);
    let slow = write(&dir, "slow", &slower);
    let (code, said) = compare(&[&base, &slow]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("worse") && said.contains("-3.00 %"), "{said}");
    let (code, said) = compare(&[&slow, &base]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("better"), "{said}");
    let (code, said) = compare(&[&base, &base]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(" ~ "), "{said}");
    assert_eq!(compare(&[&base, &slow, "--threshold", "5"]).0, 0);
    let few = write(&dir, "few", &slower[..3]);
    let (code, said) = compare(&[&base, &few, "--alpha", "0.001"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("too few runs"), "{said}");
}

// Rows: L16
#[test]
fn what_was_not_measured_alike_is_named_beside_the_verdict() {
    let dir = TestDir::new();
    let values = [5.0, 5.1, 5.2, 5.3, 5.4, 5.5];
    let made = |close: &str, protocol: &str| {
        let settings = [("close", close), ("protocol", protocol)];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        ResultProvenance { settings, ..ResultProvenance::default() }
    };
    let base = write_made(&dir, "base", &values, made("client", "HTTP/1.1"));
    let other = write_made(&dir, "other", &values.map(|v| v * 2.0), made("server", "HTTP/2"));
    let (code, said) = compare(&[&base, &other]);
    assert_eq!(code, 0, "{said}");
    for words in [
        "setting `close` differs: client and server",
        "setting `protocol` differs: HTTP/1.1 and HTTP/2",
        "not measured alike",
    ] {
        assert!(said.contains(words), "no `{words}` in:\n{said}");
    }
    let (_, said) = compare(&[&base, &other, "--json"]);
    let found: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["differences"][1]["result"], "HTTP/2");
    assert!(!compare(&[&base, &base]).1.contains("not measured alike"));
}

#[test]
fn json_and_files_that_are_none() {
    let dir = TestDir::new();
    let base = write(&dir, "base", &[5.0; 6]);
    let (code, said) = compare(&[&base, &base, "--json"]);
    let found: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &found["rows"][0]["status"]), (0, &"unproven".into()));
    let other = dir.write("other", "{\"a\": 1}").display().to_string();
    assert_eq!(compare(&[&base, &other]).0, 2);
    assert_eq!(compare(&[&base, "/nonexistent"]).0, 2);
    assert_eq!(compare(&[&base, &base, "--alpha", "2"]).0, 2);
    assert!(Path::new(&base).exists());
}
