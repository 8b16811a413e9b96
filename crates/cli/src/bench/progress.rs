//! The progress of a running benchmark on standard error.

use std::io::{IsTerminal, Write};

use lab::bench::http::BenchEvent;
use lab::machine::facts::SATURATED;
use lab::result_note::NoteSeverity;

use crate::show::unit::{micros, rate};

/// A line that is drawn over on terminals, and a line a test elsewhere.
pub struct ProgressLine {
    quiet: bool,
    terminal: bool,
    test: String,
}

impl ProgressLine {
    /// `quiet`: JSON is wanted, and progress only on a terminal.
    pub fn new(quiet: bool) -> ProgressLine {
        let terminal = std::io::stderr().is_terminal();
        ProgressLine { quiet: quiet && !terminal, terminal, test: String::new() }
    }

    pub fn report_event(&mut self, event: &BenchEvent<'_>) {
        if self.quiet {
            return;
        }
        match event {
            BenchEvent::TestStarted { test, repeat, repeats } => {
                self.test = if *repeats > 1 {
                    format!("{test}, {repeat} of {repeats}")
                } else {
                    (*test).to_owned()
                };
                if !self.terminal {
                    self.print_line(&format!("{} …\n", self.test));
                }
            }
            BenchEvent::SecondElapsed(second) if self.terminal => self.print_line(&format!(
                "\r\x1b[K{}: {:.0} s, {}/s, p99 {}, {}/s failed{}",
                self.test,
                second.at,
                rate(second.rate),
                micros(second.p99_us as u64),
                rate(second.failed),
                if second.busiest > SATURATED {
                    "; client limit: a thread is out of time"
                } else {
                    ""
                }
            )),
            BenchEvent::SecondElapsed(_) => {}
            BenchEvent::LimitForecast(note) => {
                let word =
                    if note.weight == NoteSeverity::ClientLimit { "client limit" } else { "note" };
                self.print_line(&format!("{word}: {}\n", note.text));
            }
        }
    }

    /// The line makes room for the result.
    pub fn clear(&self) {
        if self.terminal && !self.quiet {
            self.print_line("\r\x1b[K");
        }
    }

    fn print_line(&self, text: &str) {
        let mut err = std::io::stderr().lock();
        // Ignored: a measurement must not stop because its progress cannot be shown.
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }
}

/// A line of progress.
pub fn print_progress(text: &str) {
    // Ignored: a measurement must not stop because its progress cannot be shown.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
