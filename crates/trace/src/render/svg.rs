//! Writes SVG: escaped text, shapes, a frame around a drawing. This module does not depend on packets.

use std::fmt::Write;

/// A drawing that grows.
#[derive(Debug, Default)]
pub struct Svg {
    out: String,
}

/// Text escaped for XML and HTML.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A point of a drawing, pixels from its upper left corner.
#[derive(Clone, Copy, Debug)]
pub struct SvgPoint {
    pub x: f64,
    pub y: f64,
}

impl Svg {
    pub fn line(&mut self, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
        // Writing to a `String` cannot fail, here and below.
        let _ = writeln!(
            self.out,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    /// A rectangle with a tooltip.
    pub fn rect(&mut self, class: &str, x: f64, y: f64, w: f64, h: f64, title: &str) {
        let _ = writeln!(
            self.out,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.2}\" height=\"{h:.1}\"><title>{}</title></rect>",
            escaped(title)
        );
    }

    /// Text; `anchor`: `start`, `middle` or `end`.
    pub fn text(&mut self, class: &str, anchor: &str, x: f64, y: f64, text: &str) {
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escaped(text)
        );
    }

    /// A path of steps: each value holds until the next.
    pub fn steps(&mut self, class: &str, points: &[SvgPoint]) {
        let mut path = String::new();
        for (at, SvgPoint { x, y }) in points.iter().enumerate() {
            let _ = if at == 0 {
                write!(path, "M{x:.1} {y:.1}")
            } else {
                write!(path, "H{x:.1}V{y:.1}")
            };
        }
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    /// Dots, as one path.
    pub fn dots(&mut self, class: &str, points: &[SvgPoint]) {
        let mut path = String::new();
        for SvgPoint { x, y } in points {
            let _ = write!(path, "M{x:.1} {y:.1}h0");
        }
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    pub fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
        self.out.push('\n');
    }

    /// The drawing's markup, without a frame.
    pub fn inner(self) -> String {
        self.out
    }

    pub fn framed(self, id: &str, width: f64, height: f64) -> String {
        format!(
            "<svg id=\"{id}\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\">\n{}</svg>\n",
            self.out
        )
    }
}
