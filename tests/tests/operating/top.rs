//! The live screen: a printed frame, keys and signals on a pseudo-terminal, and the terminal's settings afterwards.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tests::e2e::balancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::load;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::{tools, wait};

/// The first number in the line that begins with this name, which is its rate.
fn rate(frame: &str, name: &str) -> f64 {
    let line = frame.lines().find(|line| line.starts_with(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("no line of {name}: {frame}"));
    let number = line.split_whitespace().find_map(|word| word.replace(',', "").parse().ok());
    number.unwrap_or_else(|| panic!("no rate: {line}"))
}

#[test]
fn a_frame_shows_services_servers_and_rates_and_a_dead_daemon_is_reported() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).quiet();
    let place = CliEnvironment::new(&setup);
    let process = place.start();
    let load = load::start(load::get_plan(setup.fronts()[0], "/", 4));
    load::wait_for_answers(&load, 50);
    let said = place.run_verb_ok(&["top", "--once", "--every", "500ms"]);
    for name in ["shop", "web/a", "web/b"] {
        assert!(rate(&said.stdout, name) > 0.0, "{name}: {}", said.stdout);
    }
    assert!(
        said.stdout.contains("\nnothing has failed since the daemon's start\n"),
        "{}",
        said.stdout
    );
    // Without a terminal one frame is printed too.
    let said = place.run_verb_ok(&["top", "--view", "servers", "--every", "500ms"]);
    assert!(
        rate(&said.stdout, "web/a") > 0.0 && !said.stdout.contains("SERVICE"),
        "{}",
        said.stdout
    );
    load::stop(load);

    drop(process);
    let said = place.run_verb(&["top", "--once"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{said:?}");
    assert!(said.stderr.starts_with("steelyard: no daemon at "), "{said:?}");
}

/// `steelyard top` on a pseudo-terminal, which script(1) creates.
struct Terminal {
    script: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<TerminalState>>,
}

/// The output of the terminal.
struct TerminalState {
    written: String,
    /// The screen after this output.
    screen: vt100::Parser,
}

const SIZE: (u16, u16) = (30, 140);

impl Terminal {
    fn open(place: &CliEnvironment) -> Terminal {
        let top = format!("{} top --every 200ms", balancer::program().display());
        // Prints the terminal's settings before and after, the process ID and the exit code.
        let shell = format!(
            "stty rows {} cols {}; echo before $(stty -g); sh -c 'echo pid $$; exec {top}'; \
             echo code $?; echo after $(stty -g)",
            SIZE.0, SIZE.1
        );
        let mut script = Command::new(tools::program("script"))
            .args(["-q", "-f", "-c", &shell, "/dev/null"])
            .env("STEELYARD_SOCKET", place.dir().join("sock"))
            .envs([("TERM", "xterm"), ("NO_COLOR", "1"), ("SHELL", "/bin/sh")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = script.stdout.take().unwrap();
        let keys = script.stdin.take().unwrap();
        let [rows, columns] = [SIZE.0, SIZE.1].map(|side| NonZeroU16::new(side).unwrap());
        let screen = vt100::Parser::new(rows, columns, 0);
        let seen = Arc::new(Mutex::new(TerminalState { written: String::new(), screen }));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                let mut kept = kept.lock().unwrap();
                kept.written.push_str(&String::from_utf8_lossy(&bytes[..read]));
                kept.screen.process(&bytes[..read]);
            }
        });
        Terminal { script, keys, seen }
    }

    /// Presses keys, and waits until the screen shows `expected`.
    fn press(&mut self, keys: &str, expected: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.sees(expected);
    }

    /// Waits until the screen shows `expected`.
    fn sees(&self, expected: &str) {
        let shows = || self.seen.lock().unwrap().screen.screen().contents().contains(expected);
        wait::until(&format!("{expected:?} on the screen"), shows);
    }

    /// The whole output of the terminal.
    fn seen(&self) -> String {
        self.seen.lock().unwrap().written.clone()
    }

    /// The rest of the line after a word.
    fn line(&self, word: &str) -> Option<String> {
        let seen = self.seen();
        let (line, _) = seen.split_once(&format!("{word} "))?.1.split_once('\n')?;
        Some(line.trim().to_owned())
    }

    fn pid(&self) -> Pid {
        let pid = wait::until_some("the number of the process", || self.line("pid")?.parse().ok());
        Pid::from_raw(pid).unwrap()
    }

    /// Waits for a successful end, and checks that the terminal's settings are restored.
    fn is_given_back(&mut self) {
        wait::until("the end of the terminal", || self.script.try_wait().unwrap().is_some());
        let after = wait::until_some("the settings afterwards", || self.line("after"));
        assert_eq!(self.line("code").as_deref(), Some("0"), "{:?}", self.seen());
        assert_eq!(self.line("before"), Some(after), "{:?}", self.seen());
        let seen = self.seen();
        // The last of these sequences leave the alternate screen and show the cursor.
        for (taken, given) in [("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?25l", "\x1b[?25h")] {
            assert!(seen.rfind(taken) < seen.rfind(given), "{given:?}: {seen:?}");
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn keys_drain_a_server_and_the_screen_outlives_the_daemon() {
    let origins = [origin("a"), origin("b")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let process = place.start();
    let mut terminal = Terminal::open(&place);
    terminal.sees("[services]");
    terminal.press("\t", "[servers]");
    terminal.press("j", "> web/b");
    terminal.press("d", "drain web/b? y/n");
    terminal.press("n", "web/b is left as it is");
    assert_eq!(place.count_events("server-drain"), 0);
    terminal.press("d", "drain web/b? y/n");
    terminal.press("y", "drain web/b: web/b is drain");
    wait::until("the drain is told", || place.count_events("server-drain") == 1);
    terminal.press("\x1b[B\x1b[A", "> web/a");
    terminal.press("//B\r", "only '/B'");
    terminal.press("e", "enable web/b? y/n");

    drop(process);
    terminal.sees("the daemon has not answered for");
    terminal.press("y", "enable web/b: no daemon at ");
    let _process = place.start();
    terminal.sees("another process answers now");
    terminal.keys.write_all(b"q").unwrap();
    terminal.is_given_back();
}

#[test]
fn the_terminal_is_given_back_on_every_way_out() {
    let origins = [origin("a")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let _process = place.start();
    for key in ["q", "\x03"] {
        let mut terminal = Terminal::open(&place);
        terminal.sees("[services]");
        terminal.keys.write_all(key.as_bytes()).unwrap();
        terminal.is_given_back();
    }
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut terminal = Terminal::open(&place);
        terminal.sees("[services]");
        kill_process(terminal.pid(), signal).unwrap();
        terminal.is_given_back();
    }
}

#[test]
fn it_ends_with_its_terminal() {
    let origins = [origin("a")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let _process = place.start();
    let mut terminal = Terminal::open(&place);
    terminal.sees("[services]");
    let pid = terminal.pid();
    // As when the operator's connection is lost.
    terminal.script.kill().unwrap();
    terminal.script.wait().unwrap();
    wait::until("its end", || test_kill_process(pid).is_err());
}
