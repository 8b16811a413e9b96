//! Lines of a configuration: continued ones, variables of `Define`, and the bodies of macros.

use std::collections::HashMap;

use crate::inclusion_chain::InclusionChain;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;

/// The most lines, with those that macros put in.
const MOST: usize = 200_000;
/// Macros within macros, at most.
const DEEP: usize = 16;
/// Bytes of a line with its variables and parameters filled in. Values may hold other values several times.
const LONGEST: usize = 64 * 1_024;
/// Variables that Debian's `envvars` sets.
const USUAL: [&str; 6] = [
    "APACHE_LOG_DIR",
    "APACHE_RUN_DIR",
    "APACHE_RUN_USER",
    "APACHE_RUN_GROUP",
    "APACHE_PID_FILE",
    "APACHE_LOCK_DIR",
];

/// A line with the number of its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    pub text: String,
    pub number: u32,
}

/// A macro's parameters and lines.
struct MacroBody {
    parameters: Vec<String>,
    lines: Vec<SourceLine>,
}

/// Reads the lines of a file, without comments.
pub fn read_lines(text: &str, notes: &mut ConversionNotes) -> Vec<SourceLine> {
    let joined = join_continued(text);
    let mut macros: HashMap<String, MacroBody> = HashMap::new();
    let mut rest = Vec::new();
    let mut at = 0;
    while let Some(line) = joined.get(at) {
        at += 1;
        let lower = line.text.to_ascii_lowercase();
        if !lower.starts_with("<macro ") {
            rest.push(line.clone());
            continue;
        }
        let is_end = |one: &SourceLine| one.text.to_ascii_lowercase().starts_with("</macro");
        let length = joined[at..].iter().position(is_end);
        let Some(length) = length else {
            let place = SourcePlace::at_line(line.number);
            notes.unreadable(place, &line.text, "a section is not closed", "the whole file");
            return Vec::new();
        };
        let mut words = line.text[7..].trim_end_matches('>').split_whitespace().map(str::to_owned);
        let name = words.next().unwrap_or_default().to_ascii_lowercase();
        let parameters: Vec<String> = words.collect();
        let args = parameters.clone();
        let head =
            ConfigStatement::enter(format!("<Macro {name}"), args, line.number, &mut notes.ledger);
        head.note_not_needed("its lines stand where it is used", notes);
        let lines = joined[at..at + length].to_vec();
        macros.insert(name, MacroBody { parameters, lines });
        at += length + 1;
    }
    let mut out = Vec::new();
    put_in_macros(&rest, &macros, &mut InclusionChain::default(), &mut out, notes);
    fill_variables(out, notes)
}

/// Joins lines that end in `\`, and drops empty lines and comments.
fn join_continued(text: &str) -> Vec<SourceLine> {
    let mut out: Vec<SourceLine> = Vec::new();
    let mut open: Option<SourceLine> = None;
    for (line, number) in text.lines().zip(1u32..) {
        let mut whole = open.take().unwrap_or(SourceLine { text: String::new(), number });
        let continued = line.strip_suffix('\\').filter(|line| !line.ends_with('\\'));
        whole.text.push_str(continued.unwrap_or(line));
        if continued.is_some() {
            open = Some(whole);
            continue;
        }
        whole.text = whole.text.trim().to_owned();
        if !whole.text.is_empty() && !whole.text.starts_with('#') {
            out.push(whole);
        }
    }
    out.extend(open.map(|last| SourceLine { text: last.text.trim().to_owned(), ..last }));
    out
}

fn put_in_macros(
    lines: &[SourceLine],
    macros: &HashMap<String, MacroBody>,
    chain: &mut InclusionChain,
    out: &mut Vec<SourceLine>,
    notes: &mut ConversionNotes,
) {
    for line in lines {
        if out.len() >= MOST || chain.depth() > DEEP {
            let place = SourcePlace::at_line(line.number);
            notes.unreadable(place, &line.text, "macros put in too much", "the whole file");
            return;
        }
        let words = split_words(&line.text).unwrap_or_default();
        let uses = words.first().is_some_and(|word| word.eq_ignore_ascii_case("use"));
        let body = words.get(1).and_then(|name| macros.get(&name.to_ascii_lowercase()));
        let Some(body) = body.filter(|_| uses) else {
            out.push(line.clone());
            continue;
        };
        let name = words[1].to_ascii_lowercase();
        if let Some(reason) = chain.circle(line.number, |known| known == name) {
            let place = SourcePlace::at_line(line.number);
            notes.unreadable(place, &line.text, &reason, "take one of them out");
            return;
        }
        let own = ConfigStatement::enter(
            "Use".to_owned(),
            words[1..].to_vec(),
            line.number,
            &mut notes.ledger,
        );
        notes.converted(own.source.whole());
        let mut pairs: Vec<(&String, &String)> = body.parameters.iter().zip(&words[2..]).collect();
        // A longer name may begin with a shorter one.
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.0.len()));
        let filled: Vec<SourceLine> = body
            .lines
            .iter()
            .map(|one| {
                let fill = |text: String, pair: &(&String, &String)| text.replace(pair.0, pair.1);
                let text = pairs.iter().fold(one.text.clone(), fill);
                SourceLine { text, number: one.number }
            })
            .collect();
        if filled.iter().any(|one| one.text.len() > LONGEST) {
            note_long(line, notes);
            return;
        }
        chain.enter(&name, line.number);
        put_in_macros(&filled, macros, chain, out, notes);
        chain.leave();
    }
}

fn note_long(line: &SourceLine, notes: &mut ConversionNotes) {
    let place = SourcePlace::at_line(line.number);
    notes.unreadable(
        place,
        &line.text,
        "variables and macros make a line too long",
        "the whole file",
    );
}

/// Fills in `${NAME}`. A name that nothing defines makes the file unreadable.
fn fill_variables(lines: Vec<SourceLine>, notes: &mut ConversionNotes) -> Vec<SourceLine> {
    let mut known: HashMap<String, String> = HashMap::new();
    let mut out = Vec::with_capacity(lines.len());
    for line in lines {
        let mut text = String::new();
        let mut rest = line.text.as_str();
        while let Some(begin) = rest.find("${") {
            let Some(length) = rest[begin..].find('}') else { break };
            let name = &rest[begin + 2..begin + length];
            text.push_str(&rest[..begin]);
            let place = SourcePlace::at_line(line.number);
            match known.get(name) {
                Some(value) => text.push_str(value),
                // A map of mod_rewrite.
                None if name.contains(':') => text.push_str(&rest[begin..=begin + length]),
                None if USUAL.contains(&name) => {
                    let value =
                        if name == "APACHE_LOG_DIR" { "/var/log/apache2" } else { "/run/apache2" };
                    notes.changed(place, name, "the usual value of Debian is taken", "");
                    text.push_str(value);
                }
                None => notes.unreadable(
                    place,
                    &line.text,
                    "the variable is not defined in this file",
                    "write its value in the file, or `Define`",
                ),
            }
            rest = &rest[begin + length + 1..];
            if text.len() > LONGEST {
                note_long(&line, notes);
                return out;
            }
        }
        text.push_str(rest);
        let words = split_words(&text).unwrap_or_default();
        if words.first().is_some_and(|word| word.eq_ignore_ascii_case("define")) && words.len() > 1
        {
            known.insert(words[1].clone(), words.get(2).cloned().unwrap_or_default());
        }
        out.push(SourceLine { text, ..line });
    }
    out
}

/// The words of a line. `None`: a quote is not closed.
pub fn split_words(line: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let mut chars = line.chars().peekable();
    while let Some(first) = chars.next() {
        if first.is_whitespace() {
            continue;
        }
        let mut word = String::new();
        if matches!(first, '"' | '\'') {
            loop {
                match chars.next()? {
                    c if c == first => break,
                    '\\' if chars.peek() == Some(&first) || chars.peek() == Some(&'\\') => {
                        word.extend(chars.next());
                    }
                    c => word.push(c),
                }
            }
        } else {
            word.push(first);
            while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
                word.push(c);
            }
        }
        out.push(word);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_the_server_does() {
        for (line, expected) in [
            ("a b  c", Some(vec!["a", "b", "c"])),
            ("a \"b c\" 'd \"e'", Some(vec!["a", "b c", "d \"e"])),
            ("a \"b\\\"c\" \"d\\\\e\" \\.x", Some(vec!["a", "b\"c", "d\\e", "\\.x"])),
            ("a \"b", None),
        ] {
            let words = split_words(line);
            let expected =
                expected.map(|list| list.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(words, expected, "{line}");
        }
    }

    #[test]
    fn lines_are_joined_and_macros_are_put_in() {
        let text = "Define A b\n# c \\\nd\nX ${A} \\\n y\n<Macro M $p $px>\nZ $p $px\n</Macro>\nUse M 1 2\n";
        let mut notes = ConversionNotes::new("x");
        let lines: Vec<String> =
            read_lines(text, &mut notes).into_iter().map(|one| one.text).collect();
        assert_eq!(lines, ["Define A b", "X b  y", "Z 1 2"]);
    }
}
