//! A program on a pseudo-terminal, which script(1) creates: its screen, its keys, and what it leaves behind.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};

use super::{tools, wait};

/// A program on a pseudo-terminal. Dropping it ends both.
#[derive(Debug)]
pub struct Terminal {
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

impl std::fmt::Debug for TerminalState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TerminalState").field("written", &self.written).finish_non_exhaustive()
    }
}

const ROWS: u16 = 30;
const COLUMNS: u16 = 140;

impl Terminal {
    /// Starts a command of the shell with these variables.
    ///
    /// # Panics
    /// script(1) does not start.
    pub fn open(command: &str, variables: &[(&str, &OsStr)]) -> Terminal {
        // Prints the terminal's settings before and after, the process ID and the exit code.
        let shell = format!(
            "stty rows {ROWS} cols {COLUMNS}; echo before $(stty -g); sh -c 'echo pid $$; exec {command}'; \
             echo code $?; echo after $(stty -g)"
        );
        let mut script = Command::new(tools::program("script"))
            .args(["-q", "-f", "-c", &shell, "/dev/null"])
            .envs(variables.iter().copied())
            .envs([("TERM", "xterm"), ("NO_COLOR", "1"), ("SHELL", "/bin/sh")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = script.stdout.take().unwrap();
        let keys = script.stdin.take().unwrap();
        let [rows, columns] = [ROWS, COLUMNS].map(|side| NonZeroU16::new(side).unwrap());
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

    /// Presses keys.
    ///
    /// # Panics
    /// The terminal is gone.
    pub fn write(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Presses keys, and waits until the screen shows `expected`.
    ///
    /// # Panics
    /// It does not show it.
    pub fn press(&mut self, keys: &str, expected: &str) {
        self.write(keys);
        self.sees(expected);
    }

    /// Waits until the screen shows `expected`.
    ///
    /// # Panics
    /// It does not show it.
    pub fn sees(&self, expected: &str) {
        wait::until(&format!("{expected:?} on the screen"), || self.shows(expected));
    }

    /// Whether the screen shows this now.
    ///
    /// # Panics
    /// Its reader did.
    pub fn shows(&self, text: &str) -> bool {
        self.seen.lock().unwrap().screen.screen().contents().contains(text)
    }

    /// The whole output of the terminal.
    ///
    /// # Panics
    /// Its reader did.
    pub fn seen(&self) -> String {
        self.seen.lock().unwrap().written.clone()
    }

    /// The rest of the line after a word.
    fn line(&self, word: &str) -> Option<String> {
        let seen = self.seen();
        let (line, _) = seen.split_once(&format!("{word} "))?.1.split_once('\n')?;
        Some(line.trim().to_owned())
    }

    /// The number of the program's process.
    ///
    /// # Panics
    /// It did not start.
    pub fn pid(&self) -> Pid {
        let pid = wait::until_some("the number of the process", || self.line("pid")?.parse().ok());
        Pid::from_raw(pid).unwrap()
    }

    /// Sends a signal to the program.
    ///
    /// # Panics
    /// It has ended.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for an end with this exit code, and checks that the terminal's settings are restored.
    ///
    /// # Panics
    /// They are not, or the program ends otherwise.
    pub fn is_given_back(&mut self, code: i32) {
        wait::until("the end of the terminal", || self.script.try_wait().unwrap().is_some());
        let after = wait::until_some("the settings afterwards", || self.line("after"));
        assert_eq!(self.line("code"), Some(code.to_string()), "{:?}", self.seen());
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
