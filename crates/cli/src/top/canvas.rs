//! The terminal for the screen's library: only cells that changed are written.
//!
//! `top/frame.rs` draws. `show/screen.rs` takes and restores the terminal, as for every other screen.

use std::io::{self, Stdout};
use std::mem::ManuallyDrop;
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::frame;
use super::view::TopView;
use crate::show::paint::Paint;
use crate::show::screen::{self, Screen, ScreenSize};

/// A terminal to draw on.
pub struct Canvas {
    /// Never dropped: dropping would write to a terminal that may be gone, complain on standard error, which may be
    /// gone too, and panic. It owns nothing but memory, and `screen` shows the cursor again.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    area: Rect,
    paint: Paint,
    _screen: Screen,
}

impl Canvas {
    pub fn open() -> io::Result<Canvas> {
        let screen = Screen::open(true)?;
        let area = terminal_area();
        // A fixed viewport: the library fails if a terminal has no size.
        let options = TerminalOptions { viewport: Viewport::Fixed(area) };
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stdout()), options)?;
        let terminal = ManuallyDrop::new(terminal);
        Ok(Canvas { terminal, area, paint: Paint::for_stdout(), _screen: screen })
    }

    /// Draws the present state, in the present size of the terminal.
    pub fn draw(&mut self, view: &mut TopView, now: Duration) -> io::Result<()> {
        let area = terminal_area();
        if area != self.area {
            self.terminal.resize(area)?;
            self.area = area;
        }
        let paint = self.paint;
        self.terminal.draw(|frame| frame::draw(frame, view, now, paint))?;
        Ok(())
    }
}

/// All of the terminal.
fn terminal_area() -> Rect {
    let ScreenSize { columns, rows } = screen::size();
    let side = |length| u16::try_from(length).unwrap_or(u16::MAX);
    Rect::new(0, 0, side(columns), side(rows))
}
