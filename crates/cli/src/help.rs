//! The common parts of every command's help: examples and exit codes. The examples of a subcommand are those lines of
//! its parent that call it.

/// The end of the help of commands without exit codes of their own.
const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 the answer is no, 2 wrong usage, unreadable input or no daemon to ask, 3 done in part, 4 done and\nnot kept on disk.";

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
        verb.after_help(parts.join("\n\n"))
    })
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
