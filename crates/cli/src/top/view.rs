//! The state machine behind the screen: keys, snapshots and answers in; what is chosen, said and ordered out. Pure.
//!
//! Time comes in as a span since the start. It draws nothing (`frame` does) and asks nobody (`shell` does).

use std::collections::BTreeMap;
use std::time::Duration;

use api::CallError;
use api::types::{ServerAction, ServerChanged};
use ratatui::widgets::TableState;

use super::history::History;
use super::keys::Key;
use super::order::{self, Order};
use super::rows;
use super::sheet::{Row, Sheet};
use super::snapshot::Snapshot;
use super::tab::Tab;
use crate::show::paint::Colour;
use crate::show::unit::span;

/// How much longer than the time between two looks an answer may take before what is seen counts as old.
const PATIENCE: Duration = Duration::from_secs(2);
/// Letters of a filter; names are not longer.
const FILTER_MAX: usize = 64;

/// What a key asks of the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Only the screen is different.
    Stay,
    /// It is over.
    Quit,
    /// The daemon is to be told; the view waits for the answer.
    Give(Order),
}

/// What the next key is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For the table.
    Table,
    /// For the filter.
    Filter,
    /// The answer to whether this is to be ordered.
    Question(Order),
    /// To leave the help.
    Help,
}

/// What is remembered of one view while others are shown.
#[derive(Clone, Debug, Default)]
struct Pick {
    /// The line that is chosen; it keeps being so wherever it moves.
    id: Option<String>,
    /// Where it was, which is chosen when it has gone, and the first line on the screen.
    table: TableState,
    /// The column that is sorted by.
    sort: Option<usize>,
}

/// The state.
#[derive(Debug)]
pub struct View {
    every: Duration,
    tab: Tab,
    snapshot: Snapshot,
    /// When the daemon answered last, and when what is seen was said.
    answered_at: Duration,
    seen_at: Duration,
    failure: Option<String>,
    picks: BTreeMap<Tab, Pick>,
    filter: String,
    mode: Mode,
    paused: bool,
    message: Option<(String, Colour)>,
    under_way: Option<Order>,
    history: History,
    /// Lines that a screen holds, for a page up or down.
    page: usize,
}

impl View {
    /// Of a first snapshot, taken now; a view that there is nothing for becomes the first.
    pub fn new(snapshot: Snapshot, every: Duration, tab: Option<Tab>, now: Duration) -> View {
        let mut view = View {
            every,
            tab: tab.unwrap_or(Tab::Services),
            snapshot,
            answered_at: now,
            seen_at: now,
            failure: None,
            picks: BTreeMap::new(),
            filter: String::new(),
            mode: Mode::Table,
            paused: false,
            message: None,
            under_way: None,
            history: History::default(),
            page: 1,
        };
        view.history.add(rows::rates(&view.snapshot));
        view.settle();
        view
    }

    /// The daemon said this.
    pub fn seen(&mut self, snapshot: Snapshot, now: Duration) {
        (self.answered_at, self.failure) = (now, None);
        if self.paused {
            return;
        }
        let (before, pid) = (self.snapshot.status.pid, snapshot.status.pid);
        if before != pid {
            let text = format!("another process answers now: {pid}, before it was {before}");
            self.message = Some((text, Colour::Doubt));
        }
        (self.snapshot, self.seen_at) = (snapshot, now);
        self.history.add(rows::rates(&self.snapshot));
        self.settle();
    }

    /// The daemon could not be asked.
    pub fn failed(&mut self, why: &str) {
        self.failure = Some(why.to_owned());
    }

    /// What became of the order that was under way.
    pub fn answered(&mut self, answer: &Result<ServerChanged, CallError>) {
        let Some(order) = self.under_way.take() else { return };
        let words = order.words();
        self.message = Some(match answer {
            Ok(changed) => (format!("{words}: {}", order::outcome(changed)), Colour::Good),
            Err(error) if error.is_refusal() => (format!("{words}: refused: {error}"), Colour::Bad),
            Err(error) => (format!("{words}: {error}"), Colour::Bad),
        });
    }

    /// A key was pressed.
    pub fn press(&mut self, key: Key) -> Step {
        match key {
            Key::Interrupt => return Step::Quit,
            Key::Resized => return Step::Stay,
            _ => self.message = None,
        }
        let step = match std::mem::replace(&mut self.mode, Mode::Table) {
            Mode::Table => self.command(key),
            Mode::Help => Step::Stay,
            Mode::Filter => {
                self.write_filter(key);
                Step::Stay
            }
            Mode::Question(order) => self.decide(order, key),
        };
        self.settle();
        step
    }

    fn command(&mut self, key: Key) -> Step {
        match key {
            Key::Letter('q' | 'Q') => return Step::Quit,
            Key::Up | Key::Letter('k') => self.choose(|at, _, _| at.saturating_sub(1)),
            Key::Down | Key::Letter('j') => self.choose(|at, _, _| at + 1),
            Key::PageUp => self.choose(|at, page, _| at.saturating_sub(page)),
            Key::PageDown => self.choose(|at, page, _| at + page),
            Key::Home => self.choose(|_, _, _| 0),
            Key::End => self.choose(|_, _, all| all),
            Key::Next => self.turn(1),
            Key::Back => self.turn(-1),
            Key::Letter('s') => self.sort_by_next(1),
            Key::Letter('S') => self.sort_by_next(-1),
            Key::Letter('/') => self.mode = Mode::Filter,
            Key::Letter('?' | 'h') => self.mode = Mode::Help,
            Key::Letter('p' | ' ') => self.paused = !self.paused,
            Key::Letter('d') => self.ask(ServerAction::Drain),
            Key::Letter('e') => self.ask(ServerAction::Enable),
            Key::Letter('x') => self.ask(ServerAction::Disable),
            Key::Escape => self.filter.clear(),
            _ => {}
        }
        Step::Stay
    }

    fn write_filter(&mut self, key: Key) {
        self.mode = Mode::Filter;
        match key {
            Key::Letter(letter) if self.filter.chars().count() < FILTER_MAX => {
                self.filter.push(letter);
            }
            Key::Erase => {
                self.filter.pop();
            }
            Key::Enter => self.mode = Mode::Table,
            Key::Escape => {
                self.filter.clear();
                self.mode = Mode::Table;
            }
            _ => {}
        }
    }

    /// Asks whether the chosen server is to be told so.
    fn ask(&mut self, action: ServerAction) {
        if let Some(order) = &self.under_way {
            let text = format!("{} is still waiting for its answer", order.words());
            self.message = Some((text, Colour::Doubt));
            return;
        }
        let (rows, at) = self.listed();
        let Some((pool, server)) = rows.rows.get(at).and_then(|row| row.server.clone()) else {
            let text = "no server is chosen: tab leads to the servers, arrows choose one";
            self.message = Some((text.to_owned(), Colour::Doubt));
            return;
        };
        self.mode = Mode::Question(Order { pool, server, action });
    }

    fn decide(&mut self, order: Order, key: Key) -> Step {
        if !matches!(key, Key::Letter('y' | 'Y')) {
            let text = format!("{}/{} is left as it is", order.pool, order.server);
            self.message = Some((text, Colour::Quiet));
            return Step::Stay;
        }
        self.under_way = Some(order.clone());
        Step::Give(order)
    }

    /// Chooses another line: from where, lines a page, and lines in all.
    fn choose(&mut self, to: fn(usize, usize, usize) -> usize) {
        let (sheet, at) = self.listed();
        let last = sheet.rows.len().saturating_sub(1);
        let at = to(at, self.page, last).min(last);
        let pick = self.picks.entry(self.tab).or_default();
        pick.table.select(Some(at));
        pick.id = sheet.rows.get(at).map(|row| row.id.clone());
    }

    fn turn(&mut self, by: isize) {
        let tabs = self.snapshot.tabs();
        let at = tabs.iter().position(|tab| *tab == self.tab).unwrap_or(0);
        self.tab = tabs[around(at, by, tabs.len())];
    }

    /// No column comes before the first and after the last.
    fn sort_by_next(&mut self, by: isize) {
        let columns = rows::sheet(self.tab, &self.snapshot).columns.len();
        let pick = self.picks.entry(self.tab).or_default();
        let at = pick.sort.map_or(0, |column| column + 1);
        pick.sort = around(at, by, columns + 1).checked_sub(1);
    }

    /// After anything that may have moved lines: the chosen one is where it is now, or another in its place.
    fn settle(&mut self) {
        if !self.snapshot.tabs().contains(&self.tab) {
            self.tab = Tab::Services;
        }
        self.choose(|at, _, _| at);
    }

    /// The lines of the view in their order, and which of them is chosen.
    pub fn listed(&self) -> (Sheet, usize) {
        let pick = self.picks.get(&self.tab).cloned().unwrap_or_default();
        let mut sheet = self.sheet(self.tab);
        sheet.filter(&self.filter);
        sheet.sort(pick.sort);
        let is = |row: &Row| Some(&row.id) == pick.id.as_ref();
        let last = sheet.rows.len().saturating_sub(1);
        let before = pick.table.selected().unwrap_or(0);
        let at = sheet.rows.iter().position(is).unwrap_or(before.min(last));
        (sheet, at)
    }

    /// All lines of a view as configured.
    pub fn sheet(&self, tab: Tab) -> Sheet {
        rows::sheet(tab, &self.snapshot)
    }

    /// The table's place on a screen that holds so many of all its lines, none of them left empty.
    pub fn place(&mut self, all: usize, holds: usize) -> &mut TableState {
        self.page = holds.max(1);
        let table = &mut self.picks.entry(self.tab).or_default().table;
        *table.offset_mut() = table.offset().min(all.saturating_sub(self.page));
        table
    }

    /// What services took at the last looks.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Whether what is said grows older by itself.
    pub fn ages(&self, now: Duration) -> bool {
        self.paused || self.stale(now).is_some()
    }

    /// What is shown.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Which view.
    pub fn tab(&self) -> Tab {
        self.tab
    }

    /// What the next key is for.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// How lines are chosen and ordered: `sorted by /S, with 'web'`.
    pub fn terms(&self) -> String {
        let sort = self.picks.get(&self.tab).and_then(|pick| pick.sort);
        let columns = self.sheet(self.tab).columns;
        let sort = sort.and_then(|column| columns.get(column));
        let sort =
            sort.map_or_else(|| "as configured".to_owned(), |(name, _)| format!("by {name}"));
        match self.filter.as_str() {
            "" => sort,
            filter => format!("{sort}, only '{filter}'"),
        }
    }

    /// What is wrong with what is seen; nothing when the daemon answers.
    pub fn stale(&self, now: Duration) -> Option<String> {
        let silent = now.saturating_sub(self.answered_at);
        let why = match &self.failure {
            Some(why) => why.as_str(),
            None if silent > self.every + PATIENCE => "it was asked and says nothing",
            None => return None,
        };
        Some(format!("the daemon has not answered for {}: {why}", seconds(silent)))
    }

    /// What is to be said below the table's name.
    pub fn notice(&self, now: Duration) -> Option<(String, Colour)> {
        match &self.mode {
            Mode::Question(order) => {
                return Some((format!("{}? y/n", order.words()), Colour::Strong));
            }
            Mode::Filter => return Some((format!("filter: {}_", self.filter), Colour::Strong)),
            Mode::Table | Mode::Help => {}
        }
        if let Some(order) = &self.under_way {
            return Some((
                format!("{}: told, waiting for the answer", order.words()),
                Colour::Quiet,
            ));
        }
        let paused = || {
            let age = seconds(now.saturating_sub(self.seen_at));
            (format!("paused: this is {age} old; p goes on"), Colour::Doubt)
        };
        self.message.clone().or_else(|| self.paused.then(paused))
    }
}

/// Whole seconds, as ages are told.
fn seconds(age: Duration) -> String {
    match age.as_secs() {
        0 => "less than 1 s".to_owned(),
        known @ 1..60 => format!("{known} s"),
        known => span(known.saturating_mul(1000)),
    }
}

/// One further or back among so many, and around at the ends.
fn around(at: usize, by: isize, all: usize) -> usize {
    let all = all.max(1);
    if by < 0 { (at + all - 1) % all } else { (at + 1) % all }
}

#[cfg(test)]
mod tests;
