//! The part of `steelyard capacity` about groups that different members may hold. The model forecasts; this words it.

use model::capacity::failover::{FailoverCapacity, FailoverUsage, GroupShare};

use crate::show::paint::{Colour, Paint};
use crate::show::table::{TextCell, TextTable, left, right};

/// The requests of a service a second, as `--rate` states them.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedServiceRate {
    pub service: String,
    pub per_second: f64,
}

/// `SERVICE=N`, the value of `--rate`.
pub fn rate(text: &str) -> Result<StatedServiceRate, String> {
    let (name, rate) = text.split_once('=').ok_or("expected SERVICE=N, such as shop=2000")?;
    let found = rate.trim().parse::<f64>().ok().filter(|rate| (0.0..1e12).contains(rate));
    let per_second =
        found.ok_or_else(|| format!("found '{rate}', expected requests per second"))?;
    Ok(StatedServiceRate { service: name.trim().to_owned(), per_second })
}

pub fn render(of: &FailoverCapacity, width: usize, paint: Paint) -> String {
    let held: Vec<String> = of.groups.iter().map(describe_share).collect();
    let (colour, verdict) = match of.one_carries_all {
        Some(true) => (Colour::Good, "one member carries all of it".to_owned()),
        Some(false) => (Colour::Bad, describe_refusal(of)),
        None => (Colour::Doubt, describe_unknown(of)),
    };
    let mut out = format!(
        "{}: their priorities here differ, so different members may hold them: {}\n",
        paint.text(Colour::Strong, "groups"),
        held.join("; ")
    );
    let mut table =
        TextTable::new(&[left("limit of one member"), right("together"), left("of that")]);
    for one in &of.uses {
        let all = percent(one.together);
        let all =
            if one.together > 1.0 { TextCell::coloured(all, Colour::Bad) } else { all.into() };
        table.row(vec![describe_limit(one).into(), all, describe_parts(one, &of.groups).into()]);
    }
    out.push_str(&table.render(width, paint));
    out.push_str(&format!("{}\n", paint.text(colour, &verdict)));
    out.push_str(
        "when one fails the other one carries both shares: two members that share the work have the capacity of one, tell each \
         other of every connection all the same, and show by no load that they are too small before one fails\n",
    );
    out
}

fn describe_share(share: &GroupShare) -> String {
    format!("{} at {} ({})", share.group, share.priority, share.services.join(", "))
}

fn describe_refusal(of: &FailoverCapacity) -> String {
    let over: Vec<String> = of
        .uses
        .iter()
        .filter(|one| one.together > 1.0)
        .map(|one| format!("{} {}", describe_limit(one), percent(one.together)))
        .collect();
    format!("one member does not carry all of it: {}", over.join(", "))
}

fn describe_unknown(of: &FailoverCapacity) -> String {
    if of.unstated.is_empty() {
        return "no limit of one member is known from what was stated: --link, --cost or --calibrate"
            .to_owned();
    }
    let wanted: Vec<String> = of.unstated.iter().map(|name| format!("--rate {name}=N")).collect();
    format!(
        "whether one member carries all of it follows from requests per second: {}",
        wanted.join(" ")
    )
}

fn describe_limit(one: &FailoverUsage) -> String {
    match &one.service {
        Some(service) => format!("{} of {service}", one.kind.name()),
        None => one.kind.name().to_owned(),
    }
}

/// `a 60 %, b 45 %`; groups that do not use it are left out.
fn describe_parts(one: &FailoverUsage, groups: &[GroupShare]) -> String {
    let parts = groups.iter().zip(&one.groups).filter(|(_, part)| **part > 0.0);
    let parts: Vec<String> =
        parts.map(|(share, part)| format!("{} {}", share.group, percent(*part))).collect();
    parts.join(", ")
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

#[cfg(test)]
mod tests {
    use model::capacity::forecast::LimitKind;

    use super::*;

    fn of(
        uses: Vec<FailoverUsage>,
        unstated: &[&str],
        one_carries_all: Option<bool>,
    ) -> FailoverCapacity {
        let share = |group: &str, priority| GroupShare {
            group: group.into(),
            priority,
            services: vec![format!("{group}-shop")],
        };
        let unstated = unstated.iter().map(|name| (*name).to_owned()).collect();
        FailoverCapacity {
            groups: vec![share("a", 150), share("b", 100)],
            uses,
            unstated,
            one_carries_all,
        }
    }

    #[test]
    fn every_result_has_a_reason() {
        let used = |part: f64| FailoverUsage {
            kind: LimitKind::Processors,
            service: None,
            groups: vec![part, part],
            together: 2.0 * part,
        };
        let rendered = |mutual: &FailoverCapacity| render(mutual, 120, Paint::off());
        let no = rendered(&of(vec![used(0.6)], &[], Some(false)));
        assert!(no.contains("a at 150 (a-shop); b at 100 (b-shop)"), "{no}");
        assert!(no.contains("does not carry all of it: processors 120 %"), "{no}");
        assert!(
            rendered(&of(vec![used(0.4)], &[], Some(true))).contains("\none member carries all")
        );
        let text = rendered(&of(vec![], &["a-shop", "b-shop"], None));
        assert!(text.contains("requests per second: --rate a-shop=N --rate b-shop=N"), "{text}");
        assert!(rendered(&of(vec![], &[], None)).contains("--calibrate"));
    }

    #[test]
    fn a_rate_has_a_service_and_a_number() {
        let stated = StatedServiceRate { service: "shop".to_owned(), per_second: 2_000.0 };
        assert_eq!(rate("shop=2000"), Ok(stated));
        for text in ["2000", "shop=", "shop=-1", "shop=x"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
