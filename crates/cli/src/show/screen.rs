//! Standard output: printing once, and a screen that is redrawn.
//!
//! A closed pipe (`| head`) is an error of its own kind, which ends the program silently.

use std::io::{self, IsTerminal, Write};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};

/// Columns if there is no terminal.
/// Logs and mails show a hundred columns without wrapping.
const WIDTH: usize = 100;
/// Rows of a terminal that does not know how many it has.
/// The size of the VT100, which terminals and serial consoles start with.
const ROWS: u16 = 24;
/// Columns of such a terminal.
/// As the rows.
const COLUMNS: u16 = 80;
/// Columns that tables need at least.
/// Below that a name and a number do not fit beside each other.
const WIDTH_MIN: usize = 40;

/// How wide text may be.
pub fn width() -> usize {
    if !io::stdout().is_terminal() {
        return WIDTH;
    }
    match terminal::size() {
        Ok((columns, _)) if columns > 0 => usize::from(columns).max(WIDTH_MIN),
        _ => WIDTH,
    }
}

/// Whether standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The size of the terminal in characters.
pub struct ScreenSize {
    pub columns: usize,
    pub rows: usize,
}

/// The terminal's size; the usual one where it does not know it.
pub fn size() -> ScreenSize {
    let (columns, rows) = terminal::size().unwrap_or_default();
    let known = |found: u16, usual: u16| usize::from(if found == 0 { usual } else { found });
    ScreenSize { columns: known(columns, COLUMNS), rows: known(rows, ROWS) }
}

/// Prints to standard output.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A screen that is redrawn; the previous content returns at the end. Without a terminal each frame is printed after
/// the one before.
#[derive(Debug)]
pub struct Screen {
    terminal: bool,
}

impl Screen {
    /// Switches the terminal to a full screen if there is one and `whole` is set.
    pub fn open(whole: bool) -> io::Result<Self> {
        let terminal = whole && io::stdout().is_terminal();
        if terminal {
            let mut out = io::stdout().lock();
            queue!(out, EnterAlternateScreen, Hide)?;
            out.flush()?;
        }
        Ok(Screen { terminal })
    }

    /// Shows a frame, as much of it as fits.
    pub fn draw(&mut self, frame: &str) -> io::Result<()> {
        if !self.terminal {
            return print(frame);
        }
        let rows = terminal::size().map_or(0, |(_, rows)| rows);
        let rows = if rows == 0 { ROWS } else { rows };
        let mut out = io::stdout().lock();
        for (row, line) in (0..rows).zip(frame.lines()) {
            queue!(out, MoveTo(0, row), Print(line), Clear(ClearType::UntilNewLine))?;
        }
        let drawn = frame.lines().take(usize::from(rows)).count();
        if let Ok(row) = u16::try_from(drawn)
            && row < rows
        {
            queue!(out, MoveTo(0, row), Clear(ClearType::FromCursorDown))?;
        }
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.terminal {
            let mut out = io::stdout().lock();
            // The terminal may be gone: then there is nothing to give back.
            let _ = queue!(out, Show, LeaveAlternateScreen);
            let _ = out.flush();
        }
    }
}
