//! Telnet (RFC 854): refuses every option, then reads text, usually the prompt. It does not log in.

use regex::bytes::Regex;

use crate::dialogue::{DialogueStep, ProbeDialogue, ProbeResult, printable_text};

/// Commands of RFC 854.
const IAC: u8 = 255;
const DONT: u8 = 254;
const DO: u8 = 253;
const WONT: u8 = 252;
const WILL: u8 = 251;
const SB: u8 = 250;
const SE: u8 = 240;
/// Bytes of text that are stored at most.
/// Far above a banner and a prompt; a server that never stops must not fill the memory.
const TEXT_BYTES: usize = 16 * 1_024;
/// Options that are refused at most; a server that sends more is no Telnet server.
const OPTIONS: u32 = 256;

#[derive(Debug)]
pub struct TelnetProbe {
    expect: Option<Regex>,
    text: Vec<u8>,
    state: TelnetState,
    options: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TelnetState {
    Text,
    Command,
    Option(u8),
    Sub,
    SubCommand,
}

impl TelnetProbe {
    /// Waits for any text, or for a match.
    pub fn new(expect: Option<Regex>) -> TelnetProbe {
        TelnetProbe { expect, text: Vec::new(), state: TelnetState::Text, options: 0 }
    }

    fn handle_byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.state = match (self.state, byte) {
            (TelnetState::Text, IAC) => TelnetState::Command,
            (TelnetState::Text, byte) => {
                self.text.push(byte);
                TelnetState::Text
            }
            (TelnetState::Command, DO | DONT | WILL | WONT) => TelnetState::Option(byte),
            (TelnetState::Command, SB) => TelnetState::Sub,
            (TelnetState::Command, IAC) => {
                self.text.push(IAC);
                TelnetState::Text
            }
            (TelnetState::Command, _) => TelnetState::Text,
            (TelnetState::Option(verb), option) => {
                self.options += 1;
                match verb {
                    DO => out.extend([IAC, WONT, option]),
                    WILL => out.extend([IAC, DONT, option]),
                    _ => {}
                }
                TelnetState::Text
            }
            (TelnetState::Sub, IAC) => TelnetState::SubCommand,
            (TelnetState::Sub, _) => TelnetState::Sub,
            (TelnetState::SubCommand, SE) => TelnetState::Text,
            (TelnetState::SubCommand, _) => TelnetState::Sub,
        };
    }

    fn check_text(&self) -> DialogueStep {
        let is_text = |byte: &u8| byte.is_ascii_graphic();
        match &self.expect {
            Some(expect) if expect.is_match(&self.text) => {}
            None if self.text.iter().any(is_text) => {}
            _ if self.text.len() >= TEXT_BYTES => {
                return DialogueStep::failure("the text does not contain what is expected");
            }
            _ => return DialogueStep::Wait,
        }
        let last = self.text.split(|b| *b == b'\n').rfind(|line| line.iter().any(is_text));
        DialogueStep::success(format!("telnet {}", printable_text(last.unwrap_or_default())))
    }
}

impl ProbeDialogue for TelnetProbe {
    fn start(&mut self, _: &mut Vec<u8>) -> DialogueStep {
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        for byte in bytes {
            if self.text.len() >= TEXT_BYTES {
                break;
            }
            self.handle_byte(*byte, out);
            if self.options > OPTIONS {
                return DialogueStep::failure("the server asks for options without end");
            }
        }
        self.check_text()
    }

    fn handle_close(&mut self) -> ProbeResult {
        Err(match self.expect {
            Some(_) => "closed before the expected text came".to_owned(),
            None => "closed before any text came".to_owned(),
        })
    }

    fn awaited(&self) -> &'static str {
        if self.expect.is_some() { "expected text" } else { "text" }
    }
}
