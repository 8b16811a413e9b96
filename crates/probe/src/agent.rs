//! HAProxy's agent-check protocol: one line with a server's load and requested state.
//!
//! Words are separated by blanks, tabs or commas. The text after `#` is a reason for people. The parser does not act on
//! the reply.

use crate::dialogue::{DialogueStep, ProbeDialogue, ProbeResult, printable_text};
use crate::lines::LineBuffer;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentReply {
    /// The requested weight as a share of the configured one: `75%` is 0.75; may exceed 1.
    pub weight_share: Option<f64>,
    pub health: Option<AgentHealth>,
    /// The command in the reply.
    pub command: Option<AgentCommand>,
    pub reason: String,
    pub unknown: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentHealth {
    Up,
    Down,
}

/// A server's command about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentCommand {
    Ready,
    Drain,
    /// `maint`: no traffic at all.
    Maintenance,
}

/// Parses a line. `None` if the line is empty.
pub fn parse(line: &[u8]) -> Option<AgentReply> {
    let text = String::from_utf8_lossy(line);
    let (words, reason) = text.split_once('#').unwrap_or((&text, ""));
    let mut says =
        AgentReply { reason: printable_text(reason.as_bytes()), ..AgentReply::default() };
    let mut any = false;
    for word in words.split([' ', '\t', ',', '\r']).filter(|word| !word.is_empty()) {
        any = true;
        match word.to_ascii_lowercase().as_str() {
            "up" => says.health = Some(AgentHealth::Up),
            "down" | "fail" | "failed" | "stopped" => says.health = Some(AgentHealth::Down),
            "ready" => says.command = Some(AgentCommand::Ready),
            "drain" => says.command = Some(AgentCommand::Drain),
            "maint" => says.command = Some(AgentCommand::Maintenance),
            word => match word.strip_suffix('%').and_then(|digits| digits.parse::<f64>().ok()) {
                Some(percent) if percent >= 0.0 => says.weight_share = Some(percent / 100.0),
                // `maxconn:N` is accepted and ignored: the configuration sets limits.
                _ if word.starts_with("maxconn:") => {}
                _ => says.unknown += 1,
            },
        }
    }
    any.then_some(says)
}

/// Asks an agent: sends a line or nothing, and reads the first line. The result's text is that line.
#[derive(Debug)]
pub struct AgentQuery {
    send: Vec<u8>,
    lines: LineBuffer,
}

impl AgentQuery {
    pub fn new(send: &str) -> AgentQuery {
        AgentQuery { send: send.as_bytes().to_vec(), lines: LineBuffer::default() }
    }
}

impl ProbeDialogue for AgentQuery {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        out.append(&mut self.send);
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> DialogueStep {
        let line = |line: &[u8]| Some(String::from_utf8_lossy(line).into_owned());
        match self.lines.feed(bytes, line) {
            Ok(Some(line)) => DialogueStep::success(line),
            Ok(None) => DialogueStep::Wait,
            Err(too_much) => DialogueStep::failure(too_much.to_string()),
        }
    }

    fn handle_close(&mut self) -> ProbeResult {
        // A last line without a line end counts too.
        match self.lines.partial_line() {
            [] => Err("closed without saying anything".to_owned()),
            rest => Ok(String::from_utf8_lossy(rest).into_owned()),
        }
    }

    fn awaited(&self) -> &'static str {
        "line"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood() {
        let line = |text: &str| parse(text.as_bytes());
        let says = line("up 75% ready").unwrap();
        assert_eq!(
            (says.weight_share, says.health, says.command),
            (Some(0.75), Some(AgentHealth::Up), Some(AgentCommand::Ready))
        );
        let says = line("DOWN,drain#disk is full\r").unwrap();
        assert_eq!(
            (says.health, says.command),
            (Some(AgentHealth::Down), Some(AgentCommand::Drain))
        );
        assert_eq!(says.reason, "disk is full");
        assert_eq!(line("stopped").unwrap().health, Some(AgentHealth::Down));
        assert_eq!(line("maint maxconn:30").unwrap().command, Some(AgentCommand::Maintenance));
        assert_eq!(line("4000000%").unwrap().weight_share, Some(40_000.0));
        assert_eq!(line("-3% nan% x%").unwrap().unknown, 3, "numbers that are none");
        assert_eq!(line(" \t, # only a reason"), None);
    }
}
