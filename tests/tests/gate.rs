//! The gate's handling of a test program that fails once: it names the program and fails.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail")]

use std::path::Path;
use std::process::{Command, Output};

use files::TemporaryDir;
use tests::tree::top;

/// Runs `.ci/run test` in a directory where `make` reports one failed test program. The rerun of that program by
/// `cargo` exits with `second`.
fn gate(second: u8) -> Output {
    let place = TemporaryDir::new("gate").unwrap();
    let path: &Path = place.path();
    for dir in [".ci", "bin", "tests"] {
        files::create::make_dir(&path.join(dir), 0o700).unwrap();
    }
    std::fs::copy(top().join(".ci/run"), path.join(".ci/run")).unwrap();
    let failed = "echo 'test result: FAILED. 7 passed; 1 failed; 0 ignored'\n\
                  echo 'error: 1 target failed:'\necho '    `-p tests --test traffic`'\nexit 2";
    let again = match second {
        0 => "echo 'test result: ok. 8 passed; 0 failed; 0 ignored'".to_owned(),
        code => format!("echo 'test result: FAILED. 7 passed; 1 failed'\nexit {code}"),
    };
    for (name, does) in [
        ("tests/setup", ""),
        ("bin/make", failed),
        ("bin/cargo", &again),
        ("bin/rustc", "echo 'host: x86_64-unknown-linux-gnu'"),
        ("bin/du", "echo '1M target'"),
    ] {
        files::create::write(&path.join(name), format!("#!/bin/sh\n{does}\n"), 0o700).unwrap();
    }
    let paths = format!("{}:{}", path.join("bin").display(), std::env::var("PATH").unwrap());
    Command::new(path.join(".ci/run")).arg("test").env("PATH", paths).output().unwrap()
}

// A single test, because a program that one thread writes cannot be run while another thread starts a process.
#[test]
fn a_test_that_fails_once_fails_the_gate_and_is_named() {
    for (second, named) in [(0, true), (1, false)] {
        let output = gate(second);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let name = "FLAKY: cargo test -p tests --test traffic";
        assert_eq!(said.contains(name), named, "{said}");
        assert!(said.contains("7 passed, 1 failed"), "{said}");
    }
}
