//! The gate's handling of test programs: it runs them side by side, and names and fails by one that fails only once.

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

/// What a program among the tests does: it fails where another one of those that exclude each other runs.
const EXCLUDES_THE_OTHER: &str = "mkdir ../alone || exit 7\nseq 300000 | tail -n 1\nrmdir ../alone\necho 'test result: ok. 1 passed; 0 failed'";

/// Runs `tests/all` over four test programs that `cargo` reports, of which `traffic` exits with `code`.
fn run_all(code: u8, names: &[&str]) -> Output {
    let place = TemporaryDir::new("all").unwrap();
    let path: &Path = place.path();
    for dir in ["tests", "package"] {
        files::create::make_dir(&path.join(dir), 0o700).unwrap();
    }
    for name in ["all", "limited"] {
        std::fs::copy(top().join("tests").join(name), path.join("tests").join(name)).unwrap();
    }
    let traffic = format!("echo \"ran in ${{PWD##*/}}\"; exit {code}");
    let programs =
        [("packets", EXCLUDES_THE_OTHER), ("vrrp", EXCLUDES_THE_OTHER), ("traffic", &traffic)];
    let mut lines = String::from("{\"reason\":\"build-finished\"}\n");
    for (name, does) in programs {
        let program = path.join(name);
        files::create::write(&program, format!("#!/bin/sh\n{does}\n"), 0o700).unwrap();
        let artifact = serde_json::json!({
            "package_id": format!("path+file://{}/package#0.1.0", path.display()),
            "manifest_path": path.join("package/Cargo.toml"),
            "target": { "kind": ["test"], "name": name },
            "profile": { "test": true },
            "executable": program,
        });
        lines.push_str(&format!("{artifact}\n"));
    }
    let listed = path.join("artifacts");
    files::create::write(&listed, lines, 0o600).unwrap();
    let cargo = path.join("cargo");
    files::create::write(&cargo, format!("#!/bin/sh\ncat {}\n", listed.display()), 0o700).unwrap();
    Command::new(path.join("tests/all")).args(names).env("CARGO", cargo).output().unwrap()
}

// A single test, because a program that one thread writes cannot be run while another thread starts a process.
#[test]
fn test_programs_are_run_and_judged() {
    test_programs_run_side_by_side_and_one_that_fails_is_named();
    a_test_that_fails_once_fails_the_gate_and_is_named();
}

fn test_programs_run_side_by_side_and_one_that_fails_is_named() {
    let output = run_all(0, &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(said.matches("test result: ok. 1 passed").count(), 2, "{said}");
    assert!(said.contains("ran in package"), "{said}");
    let output = run_all(3, &["traffic"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.ends_with("error: 1 target failed:\n    `-p package --test traffic`\n"), "{said}");
    assert!(!said.contains("packets"), "{said}");
    assert_eq!(run_all(0, &["trafic"]).status.code(), Some(1));
}

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
