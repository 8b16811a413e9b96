//! The figures as an image: a panel per scene, a row per policy, a column per load, each cell with its number. It
//! computes only colours.

use super::PolicyRow;
use super::scenes::LOADS;

const CELL_WIDTH: usize = 58;
const CELL_HEIGHT: usize = 22;
const NAMES: usize = 132;
const GAP: usize = 28;
const TOP: usize = 64;

pub fn svg(scenes: &[(&str, Vec<PolicyRow>)]) -> String {
    let rows = scenes.first().map_or(0, |(_, rows)| rows.len());
    let panel = LOADS.len() * CELL_WIDTH;
    let width = NAMES + scenes.len() * (panel + GAP);
    let height = TOP + rows * CELL_HEIGHT + 16;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<title>Exchanges answered in time, percent, by policy and load</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let text = |x: usize, y: usize, anchor: &str, weight: &str, text: &str| {
        format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-weight=\"{weight}\" fill=\"#1a1a1a\">{text}</text>\n"
        )
    };
    for (at, (scene, rows)) in scenes.iter().enumerate() {
        let left = NAMES + at * (panel + GAP);
        out.push_str(&text(left + panel / 2, 22, "middle", "bold", scene));
        for (column, load) in LOADS.iter().enumerate() {
            let x = left + column * CELL_WIDTH + CELL_WIDTH / 2;
            out.push_str(&text(x, TOP - 12, "middle", "normal", &format!("{load} %")));
        }
        for (row, PolicyRow { policy, cells }) in rows.iter().enumerate() {
            let y = TOP + row * CELL_HEIGHT;
            if at == 0 {
                out.push_str(&text(NAMES - 10, y + 15, "end", "normal", policy));
            }
            for (column, cell) in cells.iter().enumerate() {
                let x = left + column * CELL_WIDTH;
                // Above full capacity, the feasible part is the measure.
                let most = (100.0 / f64::from(LOADS[column])).min(1.0);
                out.push_str(&format!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                    CELL_WIDTH - 2,
                    CELL_HEIGHT - 2,
                    colour(cell.in_time / most)
                ));
                let number = format!("{:.1}", cell.in_time * 100.0);
                out.push_str(&text(x + CELL_WIDTH / 2 - 1, y + 15, "middle", "normal", &number));
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Light green for all of it, to orange for 70 % of it and less.
fn colour(part: f64) -> String {
    let good = ((part - 0.7) / 0.3).clamp(0.0, 1.0);
    let mix = |bad: f64, best: f64| (bad + (best - bad) * good).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(244.0, 186.0), mix(151.0, 228.0), mix(105.0, 179.0))
}
