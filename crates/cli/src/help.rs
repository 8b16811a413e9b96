//! The common parts of every command's help: examples and exit codes. The examples of a subcommand are those lines of
//! its parent that call it.

/// The end of the help of commands without exit codes of their own.
const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 negative result, 2 wrong usage, unreadable input or no daemon, 3 partly done, 4 done
but not\nsaved to disk.";

/// Adds examples and exit codes to `command`, which is called by these words, and to its subcommands.
pub fn with_examples(command: clap::Command, words: &str) -> clap::Command {
    let outer = after_help(&command);
    command.mut_subcommands(|verb| {
        let words = format!("{words} {}", verb.get_name());
        let verb = with_examples(verb, &words);
        let mut parts = Vec::new();
        let own = after_help(&verb);
        if !own.contains("Examples:") {
            parts.extend(examples(&outer, &words));
        }
        if !own.is_empty() {
            parts.push(own.clone());
        }
        if !own.contains("Exit codes:") {
            parts.push(EXIT_CODES.to_owned());
        }
        verb.after_help(join_lines(&parts.join("\n\n")))
    })
}

/// The lines of each paragraph as one, because the terminal wraps it: two wrappings leave ragged lines. Headings,
/// indented lines and the examples below a heading stay as they are.
fn join_lines(text: &str) -> String {
    let mut out = String::new();
    let mut previous = "";
    for line in text.lines() {
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
        let goes_on = is_prose(line) && is_prose(previous) && !previous.ends_with(':');
        if !out.is_empty() {
            out.push(if goes_on { ' ' } else { '\n' });
        }
        out.push_str(line);
        previous = line;
    }
    out
}

fn after_help(command: &clap::Command) -> String {
    command.get_after_help().map(ToString::to_string).unwrap_or_default()
}

/// The example lines that call a command by these words; `None`: there are none.
fn examples(outer: &str, words: &str) -> Option<String> {
    let calls = format!("  {words} ");
    let lines: Vec<&str> = outer.lines().filter(|line| line.starts_with(&calls)).collect();
    (!lines.is_empty()).then(|| format!("Examples:\n{}", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_one_line_and_examples_stay_lines() {
        let text =
            "Examples:\n  a b\n  c d\n\nOne sentence\nand its end.\n\nExit codes:\n  0  done";
        let joined =
            "Examples:\n  a b\n  c d\n\nOne sentence and its end.\n\nExit codes:\n  0  done";
        assert_eq!(join_lines(text), joined);
    }
}
