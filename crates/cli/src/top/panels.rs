//! The panels above the table on a screen with room: limits with their use, and recent rates of services.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::symbols;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, LineGauge, Paragraph, RenderDirection, Sparkline};

use super::history::ServiceTrend;
use super::summary::{self, LimitGauge};
use super::view::TopView;
use crate::show::paint::{Colour, Paint};
use crate::show::unit::rate;

/// Lower screens have a sentence in their place.
const TALL: u16 = 20;
/// They take at most this part of a screen.
const PART: u16 = 6;
/// The frame around each.
const FRAME: u16 = 2;
/// A bar shorter than this shows nothing: names and texts are cut first.
const BAR_MIN: u16 = 10;
/// Bars are whole numbers: rates below 1 a second show too.
const FINE: f64 = 1000.0;

/// The rows that they take of a screen; none on a low one.
pub fn height(view: &TopView, area: Rect) -> u16 {
    if area.height < TALL {
        return 0;
    }
    let lines = summary::limits(view.snapshot()).len().max(view.history().services());
    let lines = u16::try_from(lines).unwrap_or(u16::MAX);
    lines.clamp(1, area.height / PART) + FRAME
}

/// Draws both, side by side.
pub fn draw(frame: &mut Frame<'_>, view: &TopView, area: Rect, paint: Paint) {
    if area.is_empty() {
        return;
    }
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let resident = Line::from(format!(" {} ", summary::resident(view.snapshot()))).right_aligned();
    let block = Block::bordered().border_style(paint.style(Colour::Quiet));
    let room = block.clone().title(" headroom ").title(resident);
    limits(frame, &summary::limits(view.snapshot()), room.inner(left), paint);
    frame.render_widget(room, left);
    let rates_block = block.title(" requests per second ");
    let inner = rates_block.inner(right);
    let busiest = view.history().busiest(usize::from(inner.height));
    trends(frame, &busiest, inner, paint);
    frame.render_widget(rates_block, right);
}

/// A line for each limit: its text, and its use.
fn limits(frame: &mut Frame<'_>, limits: &[LimitGauge], area: Rect, paint: Paint) {
    let words = column(limits.iter().map(|limit| limit.text.as_str()));
    for (limit, line) in limits.iter().zip(area.rows()) {
        let [text, _, bar] = Layout::horizontal([
            Constraint::Length(words.min(line.width.saturating_sub(BAR_MIN + 1))),
            Constraint::Length(1),
            Constraint::Fill(1),
        ])
        .areas(line);
        let colour = if limit.is_short() { Colour::Bad } else { Colour::Good };
        let gauge = LineGauge::default()
            .ratio(limit.ratio())
            .filled_symbol(symbols::block::FULL)
            .unfilled_symbol(symbols::shade::LIGHT)
            .filled_style(paint.style(colour))
            .unfilled_style(paint.style(Colour::Quiet));
        frame.render_widget(Paragraph::new(limit.text.as_str()), text);
        frame.render_widget(gauge, bar);
    }
}

/// A line for each: a service, the last looks with the present on the right, and the rate.
fn trends(frame: &mut Frame<'_>, trends: &[&ServiceTrend], area: Rect, paint: Paint) {
    let rates: Vec<String> = trends.iter().map(|trend| rate(trend.last())).collect();
    let numbers = column(rates.iter().map(String::as_str));
    let names = column(trends.iter().map(|trend| trend.name.as_str()));
    for ((trend, rate), line) in trends.iter().zip(&rates).zip(area.rows()) {
        let [name, _, bars, _, number] = Layout::horizontal([
            Constraint::Length(names.min(line.width.saturating_sub(numbers + BAR_MIN + 2))),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(numbers),
        ])
        .areas(line);
        let looks = trend.rates.iter().rev().map(|rate| (rate.max(0.0) * FINE) as u64);
        let sparkline = Sparkline::default()
            .data(looks)
            .direction(RenderDirection::RightToLeft)
            .style(paint.style(Colour::Good));
        frame.render_widget(Paragraph::new(trend.name.as_str()), name);
        frame.render_widget(sparkline, bars);
        frame.render_widget(Paragraph::new(rate.as_str()).alignment(Alignment::Right), number);
    }
}

/// As wide as the widest.
fn column<'a>(texts: impl Iterator<Item = &'a str>) -> u16 {
    let widest = texts.map(|text| Span::raw(text).width()).max().unwrap_or(0);
    u16::try_from(widest).unwrap_or(u16::MAX)
}
