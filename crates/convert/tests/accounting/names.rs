//! The directives of a manual, with their numbers of arguments and their expected outcomes.

use std::fmt::Write as _;
use std::path::PathBuf;

/// A row of `names/*.tsv`.
#[derive(Clone, Debug)]
pub struct DirectiveName {
    /// Columns before the arguments: kind or none, name, contexts.
    pub columns: Vec<String>,
    pub least: usize,
    pub most: usize,
    /// Columns after the arguments: form or none, topic.
    pub rest: Vec<String>,
    /// The expected outcome with the fewest arguments.
    pub outcome: String,
}

impl DirectiveName {
    pub fn topic(&self) -> &str {
        self.rest.last().map_or("", String::as_str)
    }

    pub fn contexts(&self) -> Vec<&str> {
        self.columns.last().map_or("", String::as_str).split(',').collect()
    }

    /// The numbers of arguments to test: the fewest, the most, and one more.
    pub fn arities(&self) -> Vec<usize> {
        let mut arities = vec![self.least, self.most, self.most + 1];
        arities.dedup();
        arities
    }
}

/// A list of names. The first line of its file has the titles.
#[derive(Debug)]
pub struct DirectiveNames {
    file: PathBuf,
    title: String,
    pub rows: Vec<DirectiveName>,
}

impl DirectiveNames {
    /// `before`: the number of columns before the arguments.
    pub fn read(file: &str, before: usize) -> DirectiveNames {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/names").join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        let title = lines.next().unwrap().to_owned();
        let rows = lines.map(|line| {
            let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
            let outcome = columns.pop().unwrap();
            let rest = columns.split_off(before + 2);
            let numbers = columns.split_off(before);
            let number = |at: usize| numbers[at].parse().unwrap();
            DirectiveName { columns, least: number(0), most: number(1), rest, outcome }
        });
        DirectiveNames { rows: rows.collect(), file, title }
    }

    /// Compares the outcome of each name with the expected outcome. With `UPDATE_EXPECT` the file is overwritten
    /// instead.
    pub fn check_outcomes(mut self, found: impl Fn(&DirectiveName) -> &'static str) {
        let mut wrong = String::new();
        let mut silent = String::new();
        for row in &mut self.rows {
            let outcome = found(row);
            if outcome != row.outcome {
                writeln!(wrong, "{:?}: {outcome}, not {}", row.columns, row.outcome).unwrap();
                outcome.clone_into(&mut row.outcome);
            }
            // Directives about access, TLS, identity and forwarding must never count as not needed. A fetch is exempt,
            // because a criterion has no effect without a rule that uses it.
            let guards = ["access", "tls", "identity", "forwarding"].contains(&row.topic())
                && row.columns[0] != "fetch";
            if guards && outcome == "not-needed" {
                writeln!(silent, "{:?} is not reported", row.columns).unwrap();
            }
        }
        assert!(silent.is_empty(), "{silent}");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let mut text = format!("{}\n", self.title);
            for row in &self.rows {
                let numbers = [row.least.to_string(), row.most.to_string()];
                let outcome = std::slice::from_ref(&row.outcome);
                let all = [&row.columns[..], &numbers, &row.rest, outcome].concat();
                writeln!(text, "{}", all.join("\t")).unwrap();
            }
            return std::fs::write(&self.file, text).unwrap();
        }
        assert!(
            wrong.is_empty(),
            "{}; look, then run again with UPDATE_EXPECT=1:\n{wrong}",
            self.file.display()
        );
    }
}
