//! Lines of fields that a rule adds to a head, with the variables in their values filled.

use crate::config::value_template::{RequestFacts, ValueBudget, ValueTemplate};

#[derive(Clone, Debug, Default)]
pub struct AddedLines(Vec<AddedLine>);

#[derive(Clone, Debug)]
enum AddedLine {
    /// Lines as they are written, each with its line end.
    Fixed(Vec<u8>),
    /// A name with `: ` behind it, and a value with variables.
    Variable(Vec<u8>, ValueTemplate),
}

impl AddedLines {
    /// The lines of fields, those without variables together.
    pub fn new<'f>(fields: impl Iterator<Item = &'f String>) -> AddedLines {
        let mut lines = Vec::new();
        for field in fields {
            let (name, value) = field.split_once(':').unwrap_or((field, ""));
            let value = value.trim();
            let fixed = match ValueTemplate::parse(value) {
                Ok(template) if template.literal().is_none() => {
                    lines.push(AddedLine::Variable(format!("{name}: ").into_bytes(), template));
                    continue;
                }
                Ok(template) => template.literal().unwrap_or(value).to_owned(),
                Err(_) => value.to_owned(),
            };
            let line = format!("{name}: {fixed}\r\n").into_bytes();
            match lines.last_mut() {
                Some(AddedLine::Fixed(before)) => before.extend(line),
                _ => lines.push(AddedLine::Fixed(line)),
            }
        }
        AddedLines(lines)
    }

    /// Whether a line needs what the client sent as X-Forwarded-For.
    pub fn wants_forwarded_for(&self) -> bool {
        self.0.iter().any(|line| match line {
            AddedLine::Fixed(_) => false,
            AddedLine::Variable(_, value) => value.wants_forwarded_for(),
        })
    }

    /// Bytes of lines that have no variables.
    pub fn fixed_bytes(&self) -> usize {
        let bytes = |line: &AddedLine| match line {
            AddedLine::Fixed(lines) => lines.len(),
            AddedLine::Variable(..) => 0,
        };
        self.0.iter().map(bytes).sum()
    }

    /// Appends the lines. One whose variables leave it empty is not written. `None`: the budget is used up.
    pub fn write(
        &self,
        facts: &RequestFacts<'_>,
        budget: &mut ValueBudget,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        for line in &self.0 {
            match line {
                AddedLine::Fixed(lines) => out.extend_from_slice(lines),
                AddedLine::Variable(name, value) => {
                    let begin = out.len();
                    out.extend_from_slice(name);
                    let value_begin = out.len();
                    value.fill(facts, budget, out)?;
                    match out.len() == value_begin {
                        true => out.truncate(begin),
                        false => out.extend_from_slice(b"\r\n"),
                    }
                }
            }
        }
        Some(())
    }
}

/// The name of a field that is written as `name: value`, lower case.
pub fn field_name(field: &str) -> String {
    field.split(':').next().unwrap_or_default().to_ascii_lowercase()
}
