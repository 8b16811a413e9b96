//! Options by the names that they had before: replaced ahead of parsing, with a warning that names the new one.

use std::ffi::{OsStr, OsString};

use model::renamed_flags::{RENAMED_FLAGS, RenamedFlag};

use crate::outcome::print_note;

/// A command line without former names, and those that it had.
pub struct CurrentArguments {
    pub words: Vec<OsString>,
    pub replaced: Vec<RenamedFlag>,
}

/// Replaces former names among the options of the verb; what follows `--` belongs to another program.
pub fn replace_former_flags(words: impl IntoIterator<Item = OsString>) -> CurrentArguments {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let flags = flags_of_verb(words.get(1..).unwrap_or_default());
    let mut replaced = Vec::new();
    for word in words.iter_mut().take_while(|word| *word != "--") {
        let Some(text) = word.to_str() else { continue };
        let name = text.split('=').next().unwrap_or_default();
        let Some(flag) = flags.iter().find(|flag| flag.former_name == name) else { continue };
        let value = &text[name.len()..];
        *word = format!("{}{value}", flag.name).into();
        if !replaced.contains(*flag) {
            replaced.push(**flag);
        }
    }
    CurrentArguments { words, replaced }
}

/// The renamed options of the verb that these words begin with.
fn flags_of_verb(words: &[OsString]) -> Vec<&'static RenamedFlag> {
    let begins = |verb: &str| {
        let mut words = words.iter().map(OsString::as_os_str);
        verb.split(' ').all(|part| words.next() == Some(OsStr::new(part)))
    };
    RENAMED_FLAGS.iter().filter(|flag| begins(flag.verb)).collect()
}

pub fn warn_of_former_flags(replaced: &[RenamedFlag]) {
    for flag in replaced {
        print_note(&format!(
            "warning: `{}` is called `{}` now; the next minor version does not take `{}`\n",
            flag.former_name, flag.name, flag.former_name
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_names_are_replaced_for_their_verb_and_before_another_programs_words() {
        for (line, expected, replaced) in [
            ("steelyard top --every 5s", "steelyard top --interval 5s", 1),
            ("steelyard top --every=5s", "steelyard top --interval=5s", 1),
            ("steelyard top --interval 5s", "steelyard top --interval 5s", 0),
            ("steelyard status --every 5s", "steelyard status --every 5s", 0),
            (
                "steelyard bench stream --least 1 --most 2",
                "steelyard bench stream --min-runs 1 --max-runs 2",
                2,
            ),
            ("steelyard bench http --least 1", "steelyard bench http --least 1", 0),
            ("steelyard lab exec a -- b --records c", "steelyard lab exec a -- b --records c", 0),
            ("steelyard", "steelyard", 0),
        ] {
            let current = replace_former_flags(line.split(' ').map(OsString::from));
            let words: Vec<_> = current.words.iter().map(|word| word.to_str().unwrap()).collect();
            assert_eq!(words.join(" "), expected);
            assert_eq!(current.replaced.len(), replaced, "{line}");
        }
    }

    #[test]
    fn every_new_name_is_an_option_of_its_verb_and_no_former_one_is() {
        let program = crate::command();
        for flag in RENAMED_FLAGS {
            let mut verb = &program;
            for word in flag.verb.split(' ') {
                verb = verb.find_subcommand(word).unwrap();
            }
            let has =
                |name: &str| verb.get_arguments().any(|one| one.get_long() == Some(&name[2..]));
            assert!(has(flag.name) && !has(flag.former_name), "{flag:?}");
        }
    }
}
