//! A view on a screen of any size. Pure: it fills a frame's cells; the terminal is `canvas`'s.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Block, Borders, Cell, Clear, HighlightSpacing, Padding, Paragraph, Row, Scrollbar,
    ScrollbarOrientation, ScrollbarState, Table, Tabs,
};

use super::help::{HELP, HINT};
use super::panels;
use super::sheet::{Sheet, SheetCell};
use super::summary::{self, HeadroomSummary};
use super::view::{InputMode, SheetSelection, TopNotice, TopView};
use crate::show::error_cell::severity_colour;
use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::table::{Align, CellParts, TableColumn, wrap};

/// Screens with fewer lines leave out the part above the table.
const LOW: u16 = 12;
/// Lines that one sentence may take of a screen.
const SENTENCE: usize = 3;
/// Marks the chosen line, also without colours.
const MARK: &str = "> ";
const GAP: u16 = 2;
/// The size of a popup beside its text: a frame, and a column on each side.
const POPUP: (u16, u16) = (4, 2);

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, view: &mut TopView, now: Duration, paint: Paint) {
    let area = frame.area();
    let above = draw_summary(view, area, now, paint);
    let lines = u16::try_from(above.len()).unwrap_or(u16::MAX);
    let [summary_area, panels, tabs, notice, table, hint] = Layout::vertical([
        Constraint::Length(lines),
        Constraint::Length(panels::height(view, area)),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(above), summary_area);
    panels::draw(frame, view, panels, paint);
    frame.render_widget(names(view, paint), tabs);
    let asks = matches!(view.mode(), InputMode::Confirm(_));
    if let Some(TopNotice { text, colour }) = view.notice(now).filter(|_| !asks) {
        let line = plain(&text).replace('\n', " ");
        frame.render_widget(Line::styled(line, paint.style(colour)), notice);
    }
    draw_sheet(frame, view, table, paint);
    frame.render_widget(Line::styled(HINT, paint.style(Colour::Quiet)), hint);
    match view.mode() {
        InputMode::Confirm(order) => {
            popup(frame, " command ", &format!("{}? y/n", order.describe()), paint)
        }
        InputMode::Help => popup(frame, " keys ", HELP, paint),
        InputMode::Table | InputMode::Filter => {}
    }
}

/// Sentences above the table: the total traffic, and problems.
fn draw_summary(view: &TopView, area: Rect, now: Duration, paint: Paint) -> Vec<Line<'static>> {
    let snapshot = view.snapshot();
    let mut lines = Vec::new();
    let mut say = |text: &str, colour: Option<Colour>| {
        let style = colour.map(|colour| paint.style(colour)).unwrap_or_default();
        let text = plain(text).replace('\n', " ");
        let wrapped = wrap(&text, usize::from(area.width)).into_iter().take(SENTENCE);
        lines.extend(wrapped.map(|line| Line::styled(line, style)));
    };
    let low = area.height < LOW;
    if !low {
        say(&summary::title(snapshot), Some(Colour::Strong));
    }
    if let Some(stale) = view.stale(now) {
        say(&stale, Some(Colour::Bad));
        return lines;
    }
    if !low && panels::height(view, area) == 0 {
        let HeadroomSummary { text, scarce } = summary::headroom(snapshot);
        say(&text, scarce.then_some(Colour::Doubt));
    }
    let alarms = summary::alarms(snapshot);
    if let Some(first) = alarms.first() {
        let text = summary::alarm_text(first, snapshot.status.now_unix_ms);
        let more = match alarms.len() {
            1 => String::new(),
            all => format!(" ({} more in `steelyard status`)", all - 1),
        };
        say(&format!("{text}{more}"), Some(severity_colour(first.severity)));
    }
    if let Some(first) = snapshot.status.warnings.first().filter(|_| !low) {
        let more = match snapshot.status.warnings.len() {
            1 => String::new(),
            all => format!(" ({} more in `steelyard status`)", all - 1),
        };
        say(&format!("warning: {first}{more}"), Some(Colour::Doubt));
    }
    lines
}

/// The views, the present one marked, also without colours.
fn names(view: &TopView, paint: Paint) -> Tabs<'static> {
    let all = view.snapshot().tabs();
    let present = all.iter().position(|tab| *tab == view.tab());
    let name = |(at, name): (usize, &str)| match Some(at) == present {
        true => format!("[{name}]"),
        false => format!(" {name} "),
    };
    let names = all.iter().map(|tab| tab.name()).enumerate().map(name);
    Tabs::new(names.collect::<Vec<_>>())
        .select(present)
        .divider("")
        .padding("", "")
        .highlight_style(paint.style(Colour::Strong))
}

/// The part of the table that is seen, with the chosen line on it.
fn draw_sheet(frame: &mut Frame<'_>, view: &mut TopView, area: Rect, paint: Paint) {
    let SheetSelection { sheet, .. } = view.listed();
    let all = sheet.rows.len();
    let low = frame.area().height < LOW;
    let block = Block::new().border_style(paint.style(Colour::Quiet));
    let block = if low { block } else { block.borders(Borders::TOP) };
    let inner = block.inner(area);
    let titled = |text: String| if low { block } else { block.title(text) };
    // The first line is for headings.
    let holds = usize::from(inner.height.saturating_sub(1).max(1));
    let terms = view.terms();
    if all == 0 {
        let why = match view.sheet(view.tab()).rows.is_empty() {
            true => view.tab().empty(),
            false => "the filter leaves nothing: / changes it, escape clears it",
        };
        let block = titled(format!(" {terms} "));
        frame.render_widget(Paragraph::new(format!("  {why}")).block(block), area);
        return;
    }
    let scrolls = all > holds;
    let columns = inner.width.saturating_sub(if scrolls { GAP } else { 0 });
    let place = view.place(all, holds);
    frame.render_stateful_widget(
        table(&sheet, columns, paint),
        Rect { width: columns, ..inner },
        place,
    );
    let first = place.offset();
    let last = all.min(first + holds);
    frame.render_widget(titled(format!(" {terms}, {}-{last} of {all} ", first + 1)), area);
    if scrolls {
        let mut state = ScrollbarState::new(all.saturating_sub(holds) + 1)
            .position(first)
            .viewport_content_length(holds);
        let bar = Scrollbar::new(ScrollbarOrientation::VerticalRight)
            .begin_symbol(None)
            .end_symbol(None)
            .style(paint.style(Colour::Quiet));
        frame.render_stateful_widget(bar, inner, &mut state);
    }
}

/// Columns from the left, as many as fit; the very last gets the remaining width.
fn table(sheet: &Sheet, columns: u16, paint: Paint) -> Table<'static> {
    let shown = shown_columns(sheet, columns);
    let heads = shown.iter().map(|column| {
        let TableColumn { title, align } = sheet.columns[*column];
        aligned(Line::styled(title, paint.style(Colour::Strong)), align)
    });
    let cells = |fields: &[SheetCell]| {
        let fields = shown.iter().filter_map(|column| {
            Some(aligned(line(fields.get(*column)?, paint), sheet.columns[*column].align))
        });
        Row::new(fields.collect::<Vec<_>>())
    };
    Table::new(sheet.rows.iter().map(|row| cells(&row.fields)), widths(sheet, &shown, columns))
        .header(Row::new(heads.collect::<Vec<_>>()))
        .column_spacing(GAP)
        .highlight_symbol(MARK)
        .highlight_spacing(HighlightSpacing::Always)
        .row_highlight_style(paint.style(Colour::Chosen))
}

/// Columns that make room for the reason on a narrow screen, the least important first.
const EXPENDABLE: [&str; 7] = ["ADDRESS", "POOL", "FORWARD", "OPEN", "WEIGHT", "P50", "IN FLIGHT"];
/// The columns of the screen that the last column should have: the beginning of a reason.
const LAST_MIN: u16 = 24;

/// The columns that are shown: all where the last one has room, else without those that matter less.
fn shown_columns(sheet: &Sheet, columns: u16) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..sheet.columns.len()).collect();
    let room = |shown: &[usize]| {
        let others = shown.iter().take(shown.len().saturating_sub(1));
        let used: u16 = others.map(|column| wanted_width(sheet, *column).saturating_add(GAP)).sum();
        columns.saturating_sub(mark_width()).saturating_sub(used)
    };
    for title in EXPENDABLE {
        if room(&shown) >= LAST_MIN {
            break;
        }
        shown.retain(|column| sheet.columns[*column].title != title);
    }
    shown
}

/// The width that a column needs to be whole.
fn wanted_width(sheet: &Sheet, column: usize) -> u16 {
    let widest = sheet.rows.iter().filter_map(|row| row.fields.get(column)).map(width).max();
    let title = sheet.columns[column].title.len();
    u16::try_from(widest.unwrap_or(0).max(title)).unwrap_or(u16::MAX)
}

fn mark_width() -> u16 {
    u16::try_from(MARK.len()).unwrap_or(0)
}

/// The width of each shown column that fits: words may be cut, numbers are whole or absent.
fn widths(sheet: &Sheet, shown: &[usize], columns: u16) -> Vec<Constraint> {
    let mut left = columns.saturating_sub(mark_width());
    let mut widths = Vec::with_capacity(shown.len());
    for column in shown {
        let align = sheet.columns[*column].align;
        let wanted = wanted_width(sheet, *column);
        if left == 0 || (align == Align::Right && wanted > left) {
            break;
        }
        let width = if Some(column) == shown.last() { left } else { wanted.min(left) };
        left = left.saturating_sub(width).saturating_sub(GAP);
        widths.push(Constraint::Length(width));
    }
    widths
}

/// The width of a field on the screen.
fn width(field: &SheetCell) -> usize {
    let CellParts { lead, rest, .. } = field.cell.parts();
    Span::raw(lead).width() + Span::raw(rest).width()
}

fn aligned(line: Line<'static>, align: Align) -> Cell<'static> {
    match align {
        Align::Left => Cell::new(line),
        Align::Right => Cell::new(line.right_aligned()),
    }
}

/// A field with its colour.
fn line(field: &SheetCell, paint: Paint) -> Line<'static> {
    let CellParts { lead, colour, rest } = field.cell.parts();
    let style = colour.map(|colour| paint.style(colour)).unwrap_or_default();
    Line::from(vec![Span::styled(lead.to_owned(), style), Span::raw(rest.to_owned())])
}

/// Text in a frame above the middle of the screen.
fn popup(frame: &mut Frame<'_>, title: &'static str, text: &str, paint: Paint) {
    let area = frame.area();
    let room = usize::from(area.width.saturating_sub(POPUP.0));
    let lines: Vec<Line<'_>> =
        text.lines().flat_map(|line| wrap(line, room)).map(Line::from).collect();
    let side = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
    let widest = lines.iter().map(Line::width).max().unwrap_or(0).max(title.len());
    let width = side(widest).saturating_add(POPUP.0).min(area.width);
    let height = side(lines.len()).saturating_add(POPUP.1).min(area.height);
    let place = area.centered(Constraint::Length(width), Constraint::Length(height));
    let block = Block::bordered()
        .title(title)
        .padding(Padding::horizontal(1))
        .border_style(paint.style(Colour::Strong));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}

#[cfg(test)]
mod tests;
