//! One command: its object, its action, its target and its keywords. Objects and actions may be shortened.

use crate::ledger::{EnteredStatement, WordAccounts};
use crate::notes::ConversionNotes;
use crate::shorten::shorten;
use crate::source::SourcePlace;

/// Objects of commands.
const OBJECTS: [&str; 16] = [
    "executor",
    "cluster",
    "port",
    "server",
    "rule",
    "manager",
    "advisor",
    "highavailability",
    "file",
    "host",
    "logstatus",
    "metric",
    "set",
    "status",
    "subagent",
    "binlog",
];
/// The most targets that one `+` list may expand to.
const TARGETS: usize = 4_096;

#[derive(Clone, Debug)]
pub struct DispatcherCommand {
    /// The object's full name.
    pub object: &'static str,
    /// The words after the object: action, target, keywords and values.
    arguments: Vec<String>,
    pub source: SourcePlace,
    accounts: WordAccounts,
    /// The line, for messages.
    pub text: String,
}

impl DispatcherCommand {
    /// Parses a line. `None` if it contains no command.
    pub fn read(text: &str, line: u32, notes: &mut ConversionNotes) -> Option<DispatcherCommand> {
        let mut words = split_words(text).into_iter().peekable();
        let first = words.peek()?.clone();
        if first.starts_with('#')
            || matches!(first.as_str(), "echo" | "rem" | "REM" | "::" | "sleep" | "@echo")
        {
            return None;
        }
        let program = first.rsplit(['/', '\\']).next().unwrap_or_default().trim_end_matches(".exe");
        if matches!(program, "dscontrol" | "cbrcontrol" | "sscontrol") {
            words.next();
        }
        // Each object that the command names keeps it.
        let text = shorten(text.trim());
        let short = words.next()?;
        let mut meant =
            OBJECTS.into_iter().filter(|object| object.starts_with(&short.to_ascii_lowercase()));
        match (meant.next(), meant.next()) {
            (Some(object), other) if other.is_none() || object == short || short.len() == 1 => {
                let arguments: Vec<String> = words.collect();
                let EnteredStatement { source, accounts } =
                    notes.ledger.enter(line, &text, arguments.len());
                Some(DispatcherCommand { object, arguments, source, accounts, text })
            }
            _ => {
                notes.left_out(
                    SourcePlace::at_line(line),
                    &text,
                    "it is no command of `dscontrol`",
                    "",
                );
                None
            }
        }
    }

    /// An argument by its position, or an empty string.
    pub fn argument(&self, at: usize) -> &str {
        self.accounts.mark_read(at);
        self.arguments.get(at).map_or("", String::as_str)
    }

    /// The arguments from this position on.
    pub fn rest(&self, from: usize) -> &[String] {
        self.accounts.mark_read_from(from);
        self.arguments.get(from..).unwrap_or(&[])
    }

    /// Whether the action is this one or an abbreviation of it.
    pub fn has_action(&self, action: &str) -> bool {
        let word = self.argument(0);
        !word.is_empty() && action.starts_with(&word.to_ascii_lowercase())
    }

    /// The keywords after the target, with their values.
    pub fn pairs(&self, from: usize) -> impl Iterator<Item = (&str, &str)> {
        self.accounts.mark_read_from(from);
        let rest = self.arguments.get(from..).unwrap_or(&[]);
        rest.chunks(2).map(|pair| match pair {
            [key, value] => (key.as_str(), value.as_str()),
            [key] => (key.as_str(), ""),
            _ => ("", ""),
        })
    }

    /// Expands the target: `a+b:80` is two targets.
    pub fn targets(&self) -> Vec<Vec<String>> {
        let target = self.argument(1);
        let separator = if target.contains('@') { '@' } else { ':' };
        let mut out: Vec<Vec<String>> = vec![Vec::new()];
        for part in target.split(separator) {
            let mut next = Vec::new();
            for known in &out {
                for one in part.split('+') {
                    if next.len() < TARGETS {
                        next.push([known.as_slice(), &[one.to_owned()]].concat());
                    }
                }
            }
            out = next;
        }
        out
    }
}

/// Splits a line at spaces outside quotes.
fn split_words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => out.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<DispatcherCommand> {
        DispatcherCommand::read(text, 1, &mut ConversionNotes::new("x"))
    }

    #[test]
    fn commands_may_be_shortened_and_lists_are_many() {
        for (text, object) in [
            ("dscontrol executor start", Some("executor")),
            ("/usr/bin/dscontrol e set nfa 1.2.3.4", Some("executor")),
            ("dscontrol c add a", Some("cluster")),
            ("port add a:80", Some("port")),
            ("# comment", None),
            ("", None),
            ("nonsense here", None),
        ] {
            assert_eq!(read(text).map(|one| one.object), object, "{text}");
        }
        let command = read("dscontrol server add c:80+443:a+b weight 3").unwrap();
        let targets: Vec<String> = command.targets().iter().map(|one| one.join("/")).collect();
        assert_eq!(targets, ["c/80/a", "c/80/b", "c/443/a", "c/443/b"]);
        assert_eq!(command.pairs(2).collect::<Vec<_>>(), [("weight", "3")]);
        assert_eq!(read("port add 2001:db8::1@80").unwrap().targets(), [["2001:db8::1", "80"]]);
        assert_eq!(split_words("a \"b c\" d"), ["a", "b c", "d"]);
    }
}
