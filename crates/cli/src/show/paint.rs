//! Colours, if wanted: on terminals, unless `NO_COLOR` or `TERM=dumb` is set.

use std::io::IsTerminal;

use ratatui::style::{Color, Modifier, Style};

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Good,
    Doubt,
    Bad,
    /// On purpose, or of no weight.
    Quiet,
    Strong,
    /// The line that keys act on.
    Chosen,
}

/// Whether colours are used.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    enabled: bool,
}

impl Paint {
    /// As standard output and the environment want it.
    pub fn for_stdout() -> Self {
        let wanted = |key: &str, unwanted: fn(&str) -> bool| {
            !std::env::var(key).is_ok_and(|value| unwanted(&value))
        };
        let on = std::io::stdout().is_terminal()
            && wanted("NO_COLOR", |value| !value.is_empty())
            && wanted("TERM", |value| value == "dumb");
        Paint { enabled: on }
    }

    #[cfg(test)]
    pub fn off() -> Self {
        Paint { enabled: false }
    }

    #[cfg(test)]
    pub fn fixed(on: bool) -> Self {
        Paint { enabled: on }
    }

    /// A colour as the screen's library has it.
    pub fn style(self, colour: Colour) -> Style {
        let style = Style::new();
        match colour {
            _ if !self.enabled => style,
            Colour::Good => style.fg(Color::Green),
            Colour::Doubt => style.fg(Color::Yellow),
            Colour::Bad => style.fg(Color::Red),
            Colour::Quiet => style.add_modifier(Modifier::DIM),
            Colour::Strong => style.add_modifier(Modifier::BOLD),
            Colour::Chosen => style.add_modifier(Modifier::REVERSED),
        }
    }

    /// `text` in a colour.
    pub fn text(self, colour: Colour, text: &str) -> String {
        if !self.enabled || text.is_empty() {
            return text.to_owned();
        }
        let code = match colour {
            Colour::Good => "32",
            Colour::Doubt => "33",
            Colour::Bad => "31",
            Colour::Quiet => "2",
            Colour::Strong => "1",
            Colour::Chosen => "7",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
