//! Telnet (RFC 854): every option is refused, then text comes, the prompt most likely. It does not log in.

use regex::bytes::Regex;

use crate::dialogue::{Dialogue, Step, Verdict, shown};

const IAC: u8 = 255;
const DONT: u8 = 254;
const DO: u8 = 253;
const WONT: u8 = 252;
const WILL: u8 = 251;
const SB: u8 = 250;
const SE: u8 = 240;
/// Bytes of text that are kept.
const TEXT_BYTES: usize = 16 * 1_024;
/// Options that are answered; a server that asks more is not one.
const OPTIONS: u32 = 256;

/// A dialogue under way.
#[derive(Debug)]
pub struct Telnet {
    expect: Option<Regex>,
    text: Vec<u8>,
    state: State,
    options: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    Command,
    Option(u8),
    Sub,
    SubCommand,
}

impl Telnet {
    /// Waits for text, or for text that contains this.
    pub fn new(expect: Option<Regex>) -> Telnet {
        Telnet { expect, text: Vec::new(), state: State::Text, options: 0 }
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.state = match (self.state, byte) {
            (State::Text, IAC) => State::Command,
            (State::Text, byte) => {
                self.text.push(byte);
                State::Text
            }
            (State::Command, DO | DONT | WILL | WONT) => State::Option(byte),
            (State::Command, SB) => State::Sub,
            (State::Command, IAC) => {
                self.text.push(IAC);
                State::Text
            }
            (State::Command, _) => State::Text,
            (State::Option(verb), option) => {
                self.options += 1;
                match verb {
                    DO => out.extend([IAC, WONT, option]),
                    WILL => out.extend([IAC, DONT, option]),
                    _ => {}
                }
                State::Text
            }
            (State::Sub, IAC) => State::SubCommand,
            (State::Sub, _) => State::Sub,
            (State::SubCommand, SE) => State::Text,
            (State::SubCommand, _) => State::Sub,
        };
    }

    fn judge(&self) -> Step {
        let told = |byte: &u8| byte.is_ascii_graphic();
        match &self.expect {
            Some(expect) if expect.is_match(&self.text) => {}
            None if self.text.iter().any(told) => {}
            _ if self.text.len() >= TEXT_BYTES => {
                return Step::bad("the text does not contain what is expected");
            }
            _ => return Step::Wait,
        }
        let last = self.text.split(|b| *b == b'\n').rfind(|line| line.iter().any(told));
        Step::good(format!("telnet {}", shown(last.unwrap_or_default())))
    }
}

impl Dialogue for Telnet {
    fn begin(&mut self, _: &mut Vec<u8>) -> Step {
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Step {
        for byte in bytes {
            if self.text.len() >= TEXT_BYTES {
                break;
            }
            self.byte(*byte, out);
            if self.options > OPTIONS {
                return Step::bad("the server asks for options without end");
            }
        }
        self.judge()
    }

    fn end(&mut self) -> Verdict {
        Err(match self.expect {
            Some(_) => "closed before the expected text came".to_owned(),
            None => "closed before any text came".to_owned(),
        })
    }

    fn awaits(&self) -> &'static str {
        if self.expect.is_some() { "expected text" } else { "text" }
    }
}
