//! Health check programs: their arguments, their output, and that no process is left behind.

use std::os::unix::fs::PermissionsExt;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::wait;

use super::fake_servers::{wait_until_down, wait_until_up};

const TIMES: &str =
    "interval = \"600ms\", fast-interval = \"600ms\", timeout = \"500ms\", rise = 1, fall = 1";

fn probed(dir: &TestDir, script: &str) -> TestBalancer {
    let path = dir.write("probe.sh", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let settings =
        format!(", probe = {{ program = \"{}\", args = [\"one\"], {TIMES} }}", path.display());
    TestBalancer::start(&BalancerConfig::tcp(&[]).server("a", "127.0.0.1:7", &settings))
}

/// The number of processes with this word in their command line.
fn running(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            line.split(|b| *b == 0).any(|argument| argument == word.as_bytes())
        })
        .count()
}

// Rows: I16, Z06
#[test]
fn a_program_gets_the_server_and_its_first_line_is_the_reason() {
    let dir = TestDir::new();
    let balancer = probed(&dir, "echo \"$1 $HOST $PORT $NAME\"; echo more; exit 0");
    wait_until_up(&balancer, "program: one 127.0.0.1 7 web/a in ");
    let dir = TestDir::new();
    let balancer = probed(&dir, "echo replica lags; exit 3");
    wait_until_down(&balancer, "program: exit code 3: replica lags");
}

#[test]
fn a_program_that_hangs_or_forks_is_gone_with_all_of_its_children() {
    let dir = TestDir::new();
    let word = format!("98765{}", std::process::id());
    let balancer = probed(&dir, &format!("sleep {word} & setsid sleep {word} & sleep {word}"));
    wait_until_down(&balancer, "the program did not end within 500 ms");
    drop(balancer);
    wait::until("nothing is left", || running(&word) == 0);
    let dir = TestDir::new();
    let word = format!("98766{}", std::process::id());
    let balancer = probed(&dir, &format!("sleep {word} & setsid sleep {word} & exit 0"));
    wait_until_up(&balancer, "program: exit code 0");
    // A process that still runs belongs to a check in progress.
    wait::until("what it left behind is gone", || running(&word) == 0);
}

#[test]
fn what_leaves_in_silence_is_found_now_and_then() {
    let dir = TestDir::new();
    let notes = TestDir::new();
    // Long enough to accumulate, and short enough to end with the test.
    let word = format!("20.{}", std::process::id());
    let runs = notes.join("runs");
    let quiet = "< /dev/null > /dev/null 2>&1 &";
    let script = format!("echo run >> {}; setsid sleep {word} {quiet} exit 0", runs.display());
    let _balancer = probed(&dir, &script);
    wait::until("ten runs", || {
        std::fs::read_to_string(&runs).is_ok_and(|text| text.lines().count() >= 10)
    });
    wait::until("nearly all of them are gone", || running(&word) <= 4);
}

#[test]
fn a_program_that_prints_without_end_or_eats_memory_is_stopped() {
    let dir = TestDir::new();
    let balancer = probed(&dir, "exec cat /dev/zero");
    wait_until_down(&balancer, "the program wrote more than 65536 bytes");
    assert!(balancer.process().resident_bytes() < 200 << 20);
    let dir = TestDir::new();
    let balancer = probed(&dir, "x=$(head -c 1000000000 /dev/zero | tr '\\0' x); echo ${#x}");
    wait_until_down(&balancer, "program");
}

/// Drivers that answer as the real ones do, and note how they were called.
const DRIVER: &str = r#"
class Cursor:
    def execute(self, question):
        open(NOTES, "a").write(question + "\n")
    def fetchone(self):
        return (ANSWER,)
class Connection:
    def cursor(self):
        return Cursor()
def connect(*words, **named):
    open(NOTES, "a").write(f"{words} {sorted(named.items())}\n")
    if ANSWER is None:
        raise RuntimeError("SQL30081N communication error")
    return Connection()
"#;

// Rows: I16
#[test]
fn the_documented_program_asks_databases_through_their_drivers() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/probes.md");
    let page = std::fs::read_to_string(page).unwrap();
    let script = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let times =
        "interval = \"10s\", fast-interval = \"10s\", timeout = \"10s\", rise = 1, fall = 1";
    let rows = [
        ("db2", "ibm_db_dbi", "1", "program: db2 answered", "HOSTNAME=127.0.0.1;PORT=7;"),
        ("oracle", "oracledb", "1", "program: oracle answered", "('service_name', 'ORDERS')"),
        ("sqlserver", "pymssql", "1", "program: sqlserver answered", "('password', 'secret')"),
        (
            "db2",
            "ibm_db_dbi",
            "None",
            "exit code 1: db2: SQL30081N communication error",
            "PWD=secret;",
        ),
        (
            "oracle",
            "oracledb",
            "2",
            "exit code 1: oracle: expected 1, the answer is 2",
            "FROM dual",
        ),
        ("oracle", "nothing", "1", "exit code 1: oracle: No module named 'oracledb'", ""),
        ("sybase", "nothing", "1", "exit code 1: sybase: unknown kind", ""),
    ];
    for (kind, module, answer, expected, noted) in rows {
        let dir = TestDir::new();
        let path = dir.write("probe-database", script);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let notes = dir.join("notes");
        let driver = format!("NOTES = \"{}\"\nANSWER = {answer}\n{DRIVER}", notes.display());
        dir.write(&format!("{module}.py"), driver);
        let password = dir.write("password", "secret\n");
        let settings = format!(
            ", probe = {{ program = \"{}\", args = [\"{kind}\", \"ORDERS\", \"probe\", \"{}\"], memory = \"1GiB\", {times} }}",
            path.display(),
            password.display()
        );
        let setup = BalancerConfig::tcp(&[]).server("a", "127.0.0.1:7", &settings);
        let balancer = TestBalancer::start(&setup);
        match expected.contains("exit code") {
            false => wait_until_up(&balancer, expected),
            true => wait_until_down(&balancer, expected),
        };
        let noted_text = std::fs::read_to_string(&notes).unwrap_or_default();
        assert!(noted_text.contains(noted), "{kind}: {noted_text}");
    }
}
