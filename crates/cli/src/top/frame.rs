//! A view as text: one screen of it, or all of it. Pure; drawing is `shell`'s.

use std::time::Duration;

use super::head;
use super::help::{HELP, HINT};
use super::rows;
use super::sheet::Sheet;
use super::snapshot::Snapshot;
use super::tab::Tab;
use super::view::{Mode, View};
use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::table::{Table, wrap};

/// Lower screens leave out what is above the table.
const LOW: usize = 12;
/// Lines that one sentence may take of a screen.
const SENTENCE: usize = 3;
/// What marks the chosen line, also without colours, and what stands before the others.
const MARKS: [&str; 2] = ["> ", "  "];

/// A screen of so many columns and rows.
pub fn screen(view: &mut View, size: (usize, usize), now: Duration, paint: Paint) -> String {
    let (columns, rows) = size;
    let mut lines = Vec::new();
    let mut say = |text: &str, colour: Option<Colour>| {
        for line in wrap(&plain(text).replace('\n', " "), columns).into_iter().take(SENTENCE) {
            lines.push(colour.map_or(line.clone(), |colour| paint.text(colour, &line)));
        }
    };
    if rows >= LOW {
        say(&head::title(view.snapshot()), None);
    }
    match view.stale(now) {
        Some(stale) => say(&stale, Some(Colour::Bad)),
        None if rows >= LOW => about(view.snapshot(), &mut say),
        None => {}
    }
    if *view.mode() == Mode::Help {
        HELP.lines().for_each(|line| say(line, None));
    } else {
        // Two lines above the table, its headings, and the last line are not for its rows.
        let notice = view.notice(now);
        lines.push(String::new());
        let place = lines.len() - 1;
        let said =
            notice.map(|(text, colour)| paint.text(colour, &plain(&text).replace('\n', " ")));
        lines.push(cut(&said.unwrap_or_default(), columns));
        let holds = rows.saturating_sub(lines.len() + 2).max(1);
        let (shown, terms) = table(view, columns, holds, paint);
        lines[place] = cut(&format!("{}  {terms}", tabs(view, paint)), columns);
        lines.extend(shown);
    }
    lines.truncate(rows.saturating_sub(1));
    lines.resize(rows.saturating_sub(1), String::new());
    lines.push(cut(&paint.text(Colour::Quiet, HINT), columns));
    lines.join("\n") + "\n"
}

/// Room and warnings.
fn about(snapshot: &Snapshot, say: &mut impl FnMut(&str, Option<Colour>)) {
    let (text, scarce) = head::headroom(snapshot);
    say(&text, scarce.then_some(Colour::Doubt));
    if let Some(first) = snapshot.status.warnings.first() {
        let more = match snapshot.status.warnings.len() {
            1 => String::new(),
            all => format!(" ({} more in `steelyard status`)", all - 1),
        };
        say(&format!("warning: {first}{more}"), Some(Colour::Doubt));
    }
}

/// The views, the present one marked.
fn tabs(view: &View, paint: Paint) -> String {
    let one = |tab: Tab| match tab == view.tab() {
        true => paint.text(Colour::Strong, &format!("[{}]", tab.name())),
        false => format!(" {} ", tab.name()),
    };
    view.snapshot().tabs().into_iter().map(one).collect::<Vec<_>>().concat()
}

/// The part of the table that is seen, and which part that is.
fn table(view: &mut View, columns: usize, holds: usize, paint: Paint) -> (Vec<String>, String) {
    let (sheet, at) = view.listed();
    let terms = view.terms();
    let all = sheet.rows.len();
    if all == 0 {
        let why = match view.sheet(view.tab()).rows.is_empty() {
            true => view.tab().empty(),
            false => "the filter leaves nothing: / changes it, escape clears it",
        };
        return (vec![cut(&format!("{}{why}", MARKS[1]), columns)], terms);
    }
    let first = view.scroll(at, all, holds);
    let last = all.min(first + holds);
    let painted = render(&sheet, paint);
    let bare = render(&sheet, Paint::off());
    let mut lines = Vec::with_capacity(holds + 1);
    lines.extend(painted.first().map(|heads| cut(&format!("{}{heads}", MARKS[1]), columns)));
    for row in first..last {
        // Headings are line 0.
        let text = if row == at { bare.get(row + 1) } else { painted.get(row + 1) };
        let text = text.map_or("", String::as_str);
        lines.push(match row == at {
            false => cut(&format!("{}{text}", MARKS[1]), columns),
            true => {
                let line = cut(&format!("{}{text}", MARKS[0]), columns);
                paint.text(Colour::Chosen, &format!("{line:<columns$}"))
            }
        });
    }
    (lines, format!("{terms}, {}-{last} of {all}", first + 1))
}

/// Everything, or one view, once.
pub fn whole(snapshot: &Snapshot, only: Option<Tab>, columns: usize, paint: Paint) -> String {
    let (room, scarce) = head::headroom(snapshot);
    let room = if scarce { paint.text(Colour::Doubt, &room) } else { room };
    let mut out = format!("{}\n{room}\n", head::title(snapshot));
    for warning in &snapshot.status.warnings {
        out.push_str(&format!("{} {}\n", paint.text(Colour::Doubt, "warning:"), plain(warning)));
    }
    for tab in only.map_or_else(|| snapshot.tabs(), |tab| vec![tab]) {
        let sheet = rows::sheet(tab, snapshot);
        out.push('\n');
        if sheet.rows.is_empty() {
            out.push_str(&format!("{}\n", tab.empty()));
        }
        for line in render(&sheet, paint) {
            out.push_str(&format!("{}\n", cut(&line, columns)));
        }
    }
    out
}

/// Headings and rows, a line each, as wide as they are.
fn render(sheet: &Sheet, paint: Paint) -> Vec<String> {
    let mut table = Table::new(sheet.columns);
    for row in &sheet.rows {
        table.row(row.fields.iter().map(|field| field.cell.clone()).collect());
    }
    table.render(usize::MAX, paint).lines().map(str::to_owned).collect()
}

/// At most so many columns of a line; its colours take none, and end with it.
fn cut(line: &str, columns: usize) -> String {
    let mut out = String::new();
    let (mut filled, mut escape, mut coloured) = (0, false, false);
    for letter in line.chars() {
        if !escape && letter != '\x1b' {
            if filled == columns {
                if coloured {
                    out.push_str(PLAIN);
                }
                return out;
            }
            filled += 1;
        }
        out.push(letter);
        let ended = escape && letter == 'm';
        escape = letter == '\x1b' || escape && !ended;
        if ended {
            coloured = !out.ends_with(PLAIN);
        }
    }
    out
}

/// What ends a colour.
const PLAIN: &str = "\x1b[0m";

#[cfg(test)]
mod tests;
