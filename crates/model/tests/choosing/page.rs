//! The figures as tables in Markdown. It draws nothing and runs nothing.

use super::PolicyRow;
use super::scenes::LOADS;

/// One table a scene.
pub fn tables(scenes: &[(&str, Vec<PolicyRow>)]) -> String {
    let mut out = String::new();
    for (scene, rows) in scenes {
        out.push_str(&format!("### {}\n\n| policy |", heading(scene)));
        LOADS.iter().for_each(|load| out.push_str(&format!(" {load} % |")));
        out.push_str(&format!("\n|---|{}\n", "---|".repeat(LOADS.len())));
        for row in rows {
            out.push_str(&format!("| `{}` |", row.policy));
            for cell in &row.cells {
                out.push_str(&format!(" {:.1} % / {} ms |", cell.in_time * 100.0, cell.p99_millis));
            }
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

fn heading(scene: &str) -> String {
    match scene {
        "identical" => "Identical servers".to_owned(),
        "uneven" => "Uneven servers with weights to match".to_owned(),
        "one slow" => "One of ten at a third of the speed, and nobody said so".to_owned(),
        "one failing" => "One of ten answers with errors, at once".to_owned(),
        other => other.to_owned(),
    }
}
