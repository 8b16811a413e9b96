//! Lines with columns that can be sorted and filtered. Pure; it knows nothing of what they are about.

use std::cmp::Ordering;

use crate::show::paint::Colour;
use crate::show::table::{Align, Cell};
use crate::show::unit::{bytes, count, micros, rate};

/// What is sorted by.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// From a to z.
    Text(String),
    /// The largest first.
    Number(f64),
}

/// What stands in one column of a line.
#[derive(Clone, Debug)]
pub struct Field {
    /// As shown.
    pub cell: Cell,
    value: Value,
}

impl Field {
    /// Words, on one line.
    pub fn text(text: &str) -> Field {
        let line = text.replace('\n', " ");
        Field { cell: line.as_str().into(), value: Value::Text(line) }
    }

    /// Words with a colour.
    pub fn coloured(text: &str, colour: Colour) -> Field {
        let line = text.replace('\n', " ");
        Field { cell: Cell::coloured(line.as_str(), colour), value: Value::Text(line) }
    }

    /// A number, shown in other words.
    pub fn shown(text: String, number: f64) -> Field {
        Field { cell: text.into(), value: Value::Number(number) }
    }

    /// A count.
    pub fn count(number: impl Into<u64>) -> Field {
        let number = number.into();
        Field::shown(count(number), number as f64)
    }

    /// A rate.
    pub fn rate(per_second: f64) -> Field {
        Field::shown(rate(per_second), per_second)
    }

    /// A rate of what should not be: coloured when there is any.
    pub fn bad_rate(per_second: f64) -> Field {
        let text = rate(per_second);
        let cell = match text.as_str() {
            "0" => text.into(),
            _ => Cell::coloured(text, Colour::Bad),
        };
        Field { cell, value: Value::Number(per_second) }
    }

    /// Bytes a second.
    pub fn bytes(per_second: f64) -> Field {
        Field::shown(bytes(per_second.max(0.0).round() as u64), per_second)
    }

    /// A time; absent ones come last.
    pub fn time(micros_or_none: Option<u64>) -> Field {
        let text = micros_or_none.map_or_else(|| "-".to_owned(), micros);
        Field::shown(text, micros_or_none.map_or(-1.0, |time| time as f64))
    }
}

/// A line.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is about; no other line of the sheet has the same.
    pub id: String,
    /// One for each column.
    pub fields: Vec<Field>,
    /// The pool and the name of the server that orders would go to.
    pub server: Option<(String, String)>,
}

/// Lines below headings.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Headings.
    pub columns: &'static [(&'static str, Align)],
    /// Lines as configured.
    pub rows: Vec<Row>,
}

impl Sheet {
    /// Keeps lines whose words have these letters, whatever their case.
    pub fn filter(&mut self, letters: &str) {
        let letters = letters.to_lowercase();
        self.rows.retain(|row| row.id.to_lowercase().contains(&letters));
    }

    /// By a column, or as configured; equal lines stay in their order.
    pub fn sort(&mut self, column: Option<usize>) {
        let Some(column) = column else { return };
        self.rows.sort_by(|a, b| match (a.fields.get(column), b.fields.get(column)) {
            (Some(a), Some(b)) => before(&a.value, &b.value),
            _ => Ordering::Equal,
        });
    }
}

fn before(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => b.total_cmp(a),
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Number(_), Value::Text(_)) => Ordering::Less,
        (Value::Text(_), Value::Number(_)) => Ordering::Greater,
    }
}
