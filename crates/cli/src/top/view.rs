//! The state machine behind the screen: keys, snapshots and answers in; selection, messages and commands out. Pure.
//!
//! Time comes in as a span since the start. `frame` draws, and `event_loop` calls the daemon.

use std::collections::BTreeMap;
use std::time::Duration;

use api::ApiError;
use api::types::{ServerAction, ServerChanged};
use ratatui::widgets::TableState;

use super::history::TrendHistory;
use super::keys::TopKey;
use super::rows;
use super::server_operation::{self, ServerOperation};
use super::sheet::{RowServer, Sheet, SheetRow};
use super::snapshot::TopSnapshot;
use super::tab::Tab;
use crate::show::paint::Colour;
use crate::show::unit::span;

/// A snapshot counts as old when the next one is late by more than this.
/// A busy host delays an answer by less.
const STALE_AFTER: Duration = Duration::from_secs(2);
/// Letters of a filter; names are not longer.
const FILTER_MAX: usize = 64;

/// The action that a key requests from the event loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyAction {
    /// Only the screen is different.
    Stay,
    Quit,
    /// Send the command to the daemon; the view waits for the answer.
    Send(ServerOperation),
}

/// The meaning of the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputMode {
    Table,
    Filter,
    /// The answer to whether this is to be ordered.
    Confirm(ServerOperation),
    /// To leave the help.
    Help,
}

/// The state of a view that is kept while others are shown.
#[derive(Clone, Debug, Default)]
struct TabState {
    /// The chosen line; it stays chosen wherever it moves.
    id: Option<String>,
    /// Where it was, which is chosen when it has gone, and the first line on the screen.
    table: TableState,
    /// The column that is sorted by.
    sort: Option<usize>,
}

/// A sentence below the table's name.
#[derive(Clone, Debug)]
pub struct TopNotice {
    pub text: String,
    pub colour: Colour,
}

/// The lines of a view in their order, and which of them is chosen.
pub struct SheetSelection {
    pub sheet: Sheet,
    /// The chosen line's position, or 0 if there is none.
    pub chosen: usize,
}

#[derive(Debug)]
pub struct TopView {
    interval: Duration,
    tab: Tab,
    snapshot: TopSnapshot,
    /// When the daemon last answered, and when the shown snapshot was taken.
    answered_at: Duration,
    seen_at: Duration,
    failure: Option<String>,
    tab_states: BTreeMap<Tab, TabState>,
    filter: String,
    mode: InputMode,
    paused: bool,
    message: Option<TopNotice>,
    pending: Option<ServerOperation>,
    history: TrendHistory,
    /// Lines that a screen holds, for a page up or down.
    page: usize,
}

impl TopView {
    /// From a first snapshot, taken now; an empty view is replaced by the first view.
    pub fn new(snapshot: TopSnapshot, every: Duration, tab: Option<Tab>, now: Duration) -> TopView {
        let mut view = TopView {
            interval: every,
            tab: tab.unwrap_or(Tab::Services),
            snapshot,
            answered_at: now,
            seen_at: now,
            failure: None,
            tab_states: BTreeMap::new(),
            filter: String::new(),
            mode: InputMode::Table,
            paused: false,
            message: None,
            pending: None,
            history: TrendHistory::default(),
            page: 1,
        };
        view.history.add(rows::rates(&view.snapshot));
        view.settle();
        view
    }

    /// Takes a new snapshot from the daemon.
    pub fn update_snapshot(&mut self, snapshot: TopSnapshot, now: Duration) {
        self.answered_at = now;
        self.failure = None;
        if self.paused {
            return;
        }
        let before = self.snapshot.status.pid;
        let pid = snapshot.status.pid;
        if before != pid {
            let text = format!("another process answers now: {pid}, before it was {before}");
            self.message = Some(TopNotice { text, colour: Colour::Doubt });
        }
        self.snapshot = snapshot;
        self.seen_at = now;
        self.history.add(rows::rates(&self.snapshot));
        self.settle();
    }

    /// The daemon did not answer.
    pub fn record_failure(&mut self, why: &str) {
        self.failure = Some(why.to_owned());
    }

    /// Takes the result of the command that was under way.
    pub fn record_answer(&mut self, answer: &Result<ServerChanged, ApiError>) {
        let Some(order) = self.pending.take() else { return };
        let words = order.describe();
        let colour = if answer.is_ok() { Colour::Good } else { Colour::Bad };
        let text = match answer {
            Ok(changed) => format!("{words}: {}", server_operation::describe_change(changed)),
            Err(error) if error.is_refusal() => format!("{words}: refused: {error}"),
            Err(error) => format!("{words}: {error}"),
        };
        self.message = Some(TopNotice { text, colour });
    }

    /// A key was pressed.
    pub fn handle_key(&mut self, key: TopKey) -> KeyAction {
        match key {
            TopKey::Interrupt => return KeyAction::Quit,
            TopKey::Resized => return KeyAction::Stay,
            _ => self.message = None,
        }
        let step = match std::mem::replace(&mut self.mode, InputMode::Table) {
            InputMode::Table => self.command(key),
            InputMode::Help => KeyAction::Stay,
            InputMode::Filter => {
                self.write_filter(key);
                KeyAction::Stay
            }
            InputMode::Confirm(order) => self.handle_confirmation(order, key),
        };
        self.settle();
        step
    }

    fn command(&mut self, key: TopKey) -> KeyAction {
        match key {
            TopKey::Letter('q' | 'Q') => return KeyAction::Quit,
            TopKey::Up | TopKey::Letter('k') => {
                self.move_selection(|at, _, _| at.saturating_sub(1))
            }
            TopKey::Down | TopKey::Letter('j') => self.move_selection(|at, _, _| at + 1),
            TopKey::PageUp => self.move_selection(|at, page, _| at.saturating_sub(page)),
            TopKey::PageDown => self.move_selection(|at, page, _| at + page),
            TopKey::Home => self.move_selection(|_, _, _| 0),
            TopKey::End => self.move_selection(|_, _, all| all),
            TopKey::Next => self.switch_tab(1),
            TopKey::Back => self.switch_tab(-1),
            TopKey::Letter('s') => self.sort_by_next(1),
            TopKey::Letter('S') => self.sort_by_next(-1),
            TopKey::Letter('/') => self.mode = InputMode::Filter,
            TopKey::Letter('?' | 'h') => self.mode = InputMode::Help,
            TopKey::Letter('p' | ' ') => self.paused = !self.paused,
            TopKey::Letter('d') => self.ask_confirmation(ServerAction::Drain),
            TopKey::Letter('e') => self.ask_confirmation(ServerAction::Enable),
            TopKey::Letter('x') => self.ask_confirmation(ServerAction::Disable),
            TopKey::Escape => self.filter.clear(),
            _ => {}
        }
        KeyAction::Stay
    }

    fn write_filter(&mut self, key: TopKey) {
        self.mode = InputMode::Filter;
        match key {
            TopKey::Letter(letter) if self.filter.chars().count() < FILTER_MAX => {
                self.filter.push(letter);
            }
            TopKey::Erase => {
                self.filter.pop();
            }
            TopKey::Enter => self.mode = InputMode::Table,
            TopKey::Escape => {
                self.filter.clear();
                self.mode = InputMode::Table;
            }
            _ => {}
        }
    }

    /// Asks for confirmation of a command to the chosen server.
    fn ask_confirmation(&mut self, action: ServerAction) {
        if let Some(order) = &self.pending {
            let text = format!("{} is still waiting for its answer", order.describe());
            self.message = Some(TopNotice { text, colour: Colour::Doubt });
            return;
        }
        let SheetSelection { sheet, chosen } = self.listed();
        let to = sheet.rows.get(chosen).and_then(|row| row.server.clone());
        let Some(RowServer { pool, name: server }) = to else {
            let text =
                "no server is chosen: tab leads to the servers, arrows choose one".to_owned();
            self.message = Some(TopNotice { text, colour: Colour::Doubt });
            return;
        };
        self.mode = InputMode::Confirm(ServerOperation { pool, server, action });
    }

    fn handle_confirmation(&mut self, order: ServerOperation, key: TopKey) -> KeyAction {
        if !matches!(key, TopKey::Letter('y' | 'Y')) {
            let text = format!("{}/{} is left as it is", order.pool, order.server);
            self.message = Some(TopNotice { text, colour: Colour::Quiet });
            return KeyAction::Stay;
        }
        self.pending = Some(order.clone());
        KeyAction::Send(order)
    }

    /// Chooses another line: from where, lines a page, and lines in all.
    fn move_selection(&mut self, to: fn(usize, usize, usize) -> usize) {
        let SheetSelection { sheet, chosen } = self.listed();
        let last = sheet.rows.len().saturating_sub(1);
        let at = to(chosen, self.page, last).min(last);
        let pick = self.tab_states.entry(self.tab).or_default();
        pick.table.select(Some(at));
        pick.id = sheet.rows.get(at).map(|row| row.id.clone());
    }

    fn switch_tab(&mut self, by: isize) {
        let tabs = self.snapshot.tabs();
        let at = tabs.iter().position(|tab| *tab == self.tab).unwrap_or(0);
        self.tab = tabs[around(at, by, tabs.len())];
    }

    /// No column comes before the first and after the last.
    fn sort_by_next(&mut self, by: isize) {
        let columns = rows::sheet(self.tab, &self.snapshot).columns.len();
        let pick = self.tab_states.entry(self.tab).or_default();
        let at = pick.sort.map_or(0, |column| column + 1);
        pick.sort = around(at, by, columns + 1).checked_sub(1);
    }

    /// After anything that may have moved lines: the chosen one is where it is now, or another in its place.
    fn settle(&mut self) {
        if !self.snapshot.tabs().contains(&self.tab) {
            self.tab = Tab::Services;
        }
        self.move_selection(|at, _, _| at);
    }

    /// The lines of the view in their order, and which of them is chosen.
    pub fn listed(&self) -> SheetSelection {
        let pick = self.tab_states.get(&self.tab).cloned().unwrap_or_default();
        let mut sheet = self.sheet(self.tab);
        sheet.filter(&self.filter);
        sheet.sort(pick.sort);
        let is = |row: &SheetRow| Some(&row.id) == pick.id.as_ref();
        let last = sheet.rows.len().saturating_sub(1);
        let before = pick.table.selected().unwrap_or(0);
        let chosen = sheet.rows.iter().position(is).unwrap_or(before.min(last));
        SheetSelection { sheet, chosen }
    }

    /// All lines of a view as configured.
    pub fn sheet(&self, tab: Tab) -> Sheet {
        rows::sheet(tab, &self.snapshot)
    }

    /// The table's place on a screen that holds so many of all its lines, none of them left empty.
    pub fn place(&mut self, all: usize, holds: usize) -> &mut TableState {
        self.page = holds.max(1);
        let table = &mut self.tab_states.entry(self.tab).or_default().table;
        *table.offset_mut() = table.offset().min(all.saturating_sub(self.page));
        table
    }

    /// The recent rates of services.
    pub fn history(&self) -> &TrendHistory {
        &self.history
    }

    /// Whether the shown ages grow by themselves.
    pub fn ages(&self, now: Duration) -> bool {
        self.paused || self.stale(now).is_some()
    }

    pub fn snapshot(&self) -> &TopSnapshot {
        &self.snapshot
    }

    pub fn tab(&self) -> Tab {
        self.tab
    }

    /// The meaning of the next key.
    pub fn mode(&self) -> &InputMode {
        &self.mode
    }

    /// How lines are chosen and ordered: `sorted by /S, with 'web'`.
    pub fn terms(&self) -> String {
        let sort = self.tab_states.get(&self.tab).and_then(|pick| pick.sort);
        let columns = self.sheet(self.tab).columns;
        let sort = sort.and_then(|column| columns.get(column));
        let sort = sort
            .map_or_else(|| "as configured".to_owned(), |column| format!("by {}", column.title));
        match self.filter.as_str() {
            "" => sort,
            filter => format!("{sort}, only '{filter}'"),
        }
    }

    /// Why the shown snapshot is old; `None` while the daemon answers.
    pub fn stale(&self, now: Duration) -> Option<String> {
        let silent = now.saturating_sub(self.answered_at);
        let why = match &self.failure {
            Some(why) => why.as_str(),
            None if silent > self.interval + STALE_AFTER => "it was asked and says nothing",
            None => return None,
        };
        Some(format!("the daemon has not answered for {}: {why}", seconds(silent)))
    }

    /// The message below the table's name.
    pub fn notice(&self, now: Duration) -> Option<TopNotice> {
        let asked = match &self.mode {
            InputMode::Confirm(order) => Some(format!("{}? y/n", order.describe())),
            InputMode::Filter => Some(format!("filter: {}_", self.filter)),
            InputMode::Table | InputMode::Help => None,
        };
        if let Some(text) = asked {
            return Some(TopNotice { text, colour: Colour::Strong });
        }
        if let Some(order) = &self.pending {
            let text = format!("{}: sent, waiting for the answer", order.describe());
            return Some(TopNotice { text, colour: Colour::Quiet });
        }
        let paused = || {
            let age = seconds(now.saturating_sub(self.seen_at));
            let text = format!("paused: this is {age} old; p goes on");
            TopNotice { text, colour: Colour::Doubt }
        };
        self.message.clone().or_else(|| self.paused.then(paused))
    }
}

/// Whole seconds, as ages are shown.
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
