//! The effects of a change, as text. Pure.

use api::types::Applied;

use crate::show::plain::plain;

/// The active configuration, and what the change touched.
pub fn render_applied(applied: &Applied) -> String {
    let generation = applied.generation;
    if !applied.changed {
        return format!("nothing differs: generation {generation} stays active\n");
    }
    let repeats = applied.restored_generation.map(|older| format!(": what generation {older} was"));
    let mut out = format!("generation {generation} is active{}\n", repeats.unwrap_or_default());
    for effect in &applied.effects {
        out.push_str(&format!("  {}\n", plain(effect)));
    }
    if let Some(file) = &applied.saved {
        out.push_str(&format!("  {} says so\n", plain(file)));
    }
    if !applied.confirmed {
        out.push_str("  not every worker has confirmed it yet; look at `steelyard status`\n");
    }
    for setting in &applied.needs_restart {
        out.push_str(&format!("  takes effect at the next start: {}\n", plain(setting)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applied_and_pending_changes_are_listed() {
        let mut applied = Applied { generation: 7, ..Applied::default() };
        assert_eq!(render_applied(&applied), "nothing differs: generation 7 stays active\n");
        applied.changed = true;
        applied.confirmed = true;
        applied.effects = vec!["service shop stops listening on 127.0.0.1:80".into()];
        let text = "generation 7 is active\n  service shop stops listening on 127.0.0.1:80\n";
        assert_eq!(render_applied(&applied), text);
        applied.restored_generation = Some(5);
        let head = "generation 7 is active: what generation 5 was\n";
        assert!(render_applied(&applied).starts_with(head));
        applied.confirmed = false;
        applied.needs_restart = vec!["workers".into()];
        assert!(render_applied(&applied).ends_with(
            "  not every worker has confirmed it yet; look at `steelyard status`\n  \
             takes effect at the next start: workers\n"
        ));
    }
}
