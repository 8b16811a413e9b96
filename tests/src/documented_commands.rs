//! Commands in the documentation: lines of fenced blocks without a language or with a shell's, and indented lines.
//!
//! A line that starts with no known program is output or configuration. This rule runs nothing.

use crate::tree::SourceTree;

/// A command as a user would type it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCommand {
    /// The page, from the top of the tree.
    pub page: String,
    /// Its line there, from 1.
    pub line: usize,
    /// The command without its trailing description.
    pub text: String,
}

/// Programs that pages call.
const PROGRAMS: [&str; 14] = [
    "apt-get",
    "cargo",
    "curl",
    "dig",
    "editor",
    "ip",
    "make",
    "nginx",
    "pg_isready",
    "python3",
    "steelyard",
    "sysctl",
    "systemctl",
    "wget",
];

/// Commands of the README and of every page below `docs/`, in their order; results of long runs are left out.
pub fn commands(tree: &SourceTree) -> Vec<ShownCommand> {
    let pages = tree.files.iter().filter(|file| {
        let below = |folder: &str| file.path.starts_with(folder);
        let page = below("docs/") && !below("docs/proof/") && file.path.ends_with(".md");
        file.path == "README.md" || page
    });
    pages.flat_map(|file| on_page(&file.path, &file.text)).collect()
}

pub fn on_page(page: &str, text: &str) -> Vec<ShownCommand> {
    let mut fence = None;
    let mut out = Vec::new();
    let mut begun: Option<ShownCommand> = None;
    for (line, words) in (1..).zip(text.lines()) {
        if let Some(language) = words.trim_start().strip_prefix("```") {
            fence = fence.is_none().then(|| language.trim());
            continue;
        }
        let read = fence.is_some_and(|it| ["", "sh", "shell", "console"].contains(&it));
        let indented = fence.is_none() && words.starts_with("    ");
        let words = words.trim();
        let words = words.strip_prefix("$ ").unwrap_or(words);
        let mut shown = match begun.take() {
            Some(first) => ShownCommand { text: format!("{} {words}", first.text), ..first },
            None if (read || indented) && is_command(words) => {
                ShownCommand { page: page.to_owned(), line, text: words.to_owned() }
            }
            None => continue,
        };
        match shown.text.strip_suffix('\\') {
            Some(part) => {
                shown.text = part.trim_end().to_owned();
                begun = Some(shown);
            }
            None => {
                shown.text = without_description(&shown.text).to_owned();
                out.push(shown);
            }
        }
    }
    out
}

/// Whether a line begins with a program, possibly after variable assignments, or is a subshell.
fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let set = |word: &&str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        })
    };
    let first = words.by_ref().find(|word| !set(word));
    // A line with only variables is a part of a file, such as a systemd unit, unless it continues.
    first.is_some_and(|word| PROGRAMS.contains(&word) || word == "\\" || word.starts_with("(umask"))
}

/// The text before two blanks outside quotes, where a description begins.
fn without_description(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') if line[at..].starts_with("  ") => return &line[..at],
            (None, ' ') if line[at..].starts_with(" # ") => return &line[..at],
            _ => {}
        }
    }
    line.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_distinguished_from_output() {
        let page = "\
Text with `steelyard status`.
```
steelyard status                  states; reasons
steelyard check x.toml # every mistake
shop: the slowest 5 %
AmbientCapabilities=CAP_BPF
(umask 077; echo \"1  $(openssl rand -hex 32)\" > keys)     # and copy it
```
```toml
steelyard = 1
```
1. A list

   ```
   $ curl -X PATCH \\
        -d '{\"a  b\": 3}' http://x/
   STEELYARD=x A_B=1 \\
     cargo test
   ```

    steelyard doctor cores --watch    live
";
        let found: Vec<_> =
            on_page("p.md", page).into_iter().map(|it| (it.line, it.text)).collect();
        let expected = [
            (3, "steelyard status"),
            (4, "steelyard check x.toml"),
            (7, "(umask 077; echo \"1  $(openssl rand -hex 32)\" > keys)"),
            (15, "curl -X PATCH -d '{\"a  b\": 3}' http://x/"),
            (17, "STEELYARD=x A_B=1 cargo test"),
            (21, "steelyard doctor cores --watch"),
        ];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    }
}
