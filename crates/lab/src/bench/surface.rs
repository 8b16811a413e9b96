//! Draws throughput as a surface over buffer and message sizes, in perspective; with scripts, dragging rotates it.
//!
//! It draws what a grid holds. Without scripts the drawing is static.

use std::fmt::Write;

use trace::render::svg::{Svg, escaped};

use super::heatmap::ThroughputGrid;

/// Draws each grid with at least two rows and two columns, and adds the script that rotates them.
pub fn render_surfaces(grids: &[ThroughputGrid<'_>]) -> String {
    let mut out = String::new();
    for grid in grids.iter().filter(|grid| grid.buffers.len() > 1 && grid.messages.len() > 1) {
        // Writing to a `String` cannot fail, here and below.
        let _ = writeln!(
            out,
            "<div class=\"plot\"><svg class=\"surface\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"100%\" data-grid=\"{}\">\n\
             <g class=\"surface\">{}</g></svg><small>{}: throughput over buffers (to the left) and messages (to the right); \
             drag to turn{}</small></div>",
            escaped(&numbers(grid)),
            draw_surface(grid, TURN, TILT),
            escaped(grid.direction),
            if grid.rows.iter().flatten().all(Option::is_some) { "" } else { GAPS },
        );
    }
    if !out.is_empty() {
        let _ = writeln!(out, "<script>\n{SCRIPT}</script>");
    }
    out
}

/// Heights of the points from 0 to 1, rows separated by `;`; empty without a value.
fn numbers(grid: &ThroughputGrid<'_>) -> String {
    let point = |height: &Option<f64>| height.map_or_else(String::new, |z| format!("{z:.4}"));
    let row = |row: Vec<Option<f64>>| row.iter().map(point).collect::<Vec<_>>().join(",");
    heights(grid).into_iter().map(row).collect::<Vec<_>>().join(";")
}

fn heights(grid: &ThroughputGrid<'_>) -> Vec<Vec<Option<f64>>> {
    let most = grid.rows.iter().flatten().flatten().copied().fold(0.0, f64::max).max(1.0);
    let row =
        |row: &Vec<Option<f64>>| row.iter().map(|cell| cell.map(|bits| bits / most)).collect();
    grid.rows.iter().map(row).collect()
}

/// Projects a point of the unit cube; returns its position and its depth.
fn project_point((x, y, z): (f64, f64, f64), turn: f64, tilt: f64) -> ((f64, f64), f64) {
    let x = x - 0.5;
    let y = y - 0.5;
    let across = x * turn.cos() - y * turn.sin();
    let depth = x * turn.sin() + y * turn.cos();
    let up = z * TALL * tilt.cos() - depth * tilt.sin();
    ((WIDTH / 2.0 + across * SCALE, HEIGHT * 0.66 - up * SCALE), depth)
}

fn draw_surface(grid: &ThroughputGrid<'_>, turn: f64, tilt: f64) -> String {
    let heights = heights(grid);
    let rows = grid.buffers.len();
    let columns = grid.messages.len();
    let point = |row: usize, column: usize| {
        let height = heights[row][column]?;
        let at = (column as f64 / (columns - 1) as f64, row as f64 / (rows - 1) as f64, height);
        Some((project_point(at, turn, tilt), height))
    };
    let mut faces = Vec::new();
    for row in 0..rows - 1 {
        for column in 0..columns - 1 {
            let corners = [(0, 0), (0, 1), (1, 1), (1, 0)].map(|(r, c)| point(row + r, column + c));
            // A face needs all four corners.
            let [Some(a), Some(b), Some(c), Some(d)] = corners else { continue };
            let corners = [a, b, c, d];
            let depth: f64 = corners.iter().map(|((_, depth), _)| depth).sum();
            let height = corners.iter().map(|(_, height)| height).sum::<f64>() / 4.0;
            let points = corners.map(|(((x, y), _), _)| format!("{x:.1},{y:.1}")).join(" ");
            faces.push((depth, height, points));
        }
    }
    // The farthest faces first, so that nearer ones cover them.
    faces.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut svg = Svg::default();
    for (_, height, points) in faces {
        svg.raw(&format!("<polygon points=\"{points}\" fill=\"{}\"/>", colour(height)));
    }
    let mut label = |row: usize, column: usize, text: &str| {
        let at = (column as f64 / (columns - 1) as f64, row as f64 / (rows - 1) as f64, 0.0);
        let ((x, y), _) = project_point(at, turn, tilt);
        svg.text("small", "middle", x, y + 16.0, text);
    };
    for (row, buffer) in grid.buffers.iter().enumerate() {
        label(row, 0, buffer);
    }
    for (column, message) in grid.messages.iter().enumerate().skip(1) {
        label(0, column, message);
    }
    svg.inner()
}

/// A colour scale from pale to strong.
fn colour(height: f64) -> String {
    let part = |pale: f64, strong: f64| (pale + (strong - pale) * height.clamp(0.0, 1.0)).round();
    format!("rgb({},{},{})", part(226.0, 28.0), part(236.0, 84.0), part(248.0, 150.0))
}

const GAPS: &str = "; where it has a hole nothing was measured";
const SCRIPT: &str = include_str!("surface.js");
/// Sizes of the drawing in units of its view box; the cube's edge has `SCALE` of them.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
const SCALE: f64 = 420.0;
/// Height of the cube relative to its sides.
const TALL: f64 = 0.5;
/// The initial view, radians.
/// About 40 degrees, and 30 for the tilt: front, side and top are seen.
const TURN: f64 = 0.7;
const TILT: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rows: Vec<Vec<f64>>) -> ThroughputGrid<'static> {
        let buffers = ["32 KiB", "<b>", "auto"][..rows.len()].to_vec();
        let messages = ["64 B", "1448 B"][..rows[0].len()].to_vec();
        let rows = rows.into_iter().map(|row| row.into_iter().map(Some).collect()).collect();
        ThroughputGrid { direction: "tcp to", buffers, messages, rows }
    }

    #[test]
    fn a_surface_has_a_hole_where_nothing_was_measured() {
        let mut grid = grid(vec![vec![1e6, 2e6], vec![2e6, 4e6], vec![1e6, 8e6]]);
        grid.rows[2][0] = None;
        let out = render_surfaces(&[grid]);
        assert_eq!(out.matches("<polygon").count(), 1, "{out}");
        assert!(out.contains("data-grid=\"0.1250,0.2500;0.2500,0.5000;,1.0000\""), "{out}");
        assert!(out.contains(GAPS));
    }

    #[test]
    fn a_surface_has_a_face_between_every_four_points() {
        let out = render_surfaces(&[grid(vec![vec![1e6, 2e6], vec![2e6, 4e6], vec![1e6, 8e6]])]);
        assert_eq!((out.matches("<polygon").count(), out.matches("<script>").count()), (2, 1));
        assert!(out.contains("data-grid=\"0.1250,0.2500;0.2500,0.5000;0.1250,1.0000\""), "{out}");
        assert!(out.contains("&lt;b&gt;") && !out.contains("<b>") && !out.contains(GAPS));
        for word in ["src=", "href=", "@import", "url("] {
            assert!(!out.contains(word), "`{word}`");
        }
        assert_eq!(render_surfaces(&[grid(vec![vec![1e6, 2e6]])]), "", "a line is no surface");
    }

    #[test]
    fn what_is_higher_is_seen_higher_and_what_is_behind_is_farther() {
        let at = |point| project_point(point, TURN, TILT);
        assert!(at((0.5, 0.5, 1.0)).0.1 < at((0.5, 0.5, 0.0)).0.1);
        assert!(at((1.0, 1.0, 0.0)).1 > at((0.0, 0.0, 0.0)).1);
        assert_eq!(
            (colour(0.0), colour(2.0)),
            ("rgb(226,236,248)".to_owned(), "rgb(28,84,150)".to_owned())
        );
    }
}
