//! Checks a source's answer: sorted, without duplicates, neither too few servers nor too many. Pure.

use model::config::DiscoveryConfig;

use crate::state::overlay::DiscoveredServer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AcceptedServers {
    /// In an order that does not depend on the answer's.
    pub servers: Vec<DiscoveredServer>,
    /// Servers that were too many.
    pub omitted: usize,
}

/// Accepts an answer, or returns why it is rejected.
pub(super) fn check_answer(
    mut servers: Vec<DiscoveredServer>,
    from: &DiscoveryConfig,
) -> Result<AcceptedServers, String> {
    servers.sort();
    servers.dedup_by(|a, b| a.address == b.address || (a.name.is_some() && a.name == b.name));
    if servers.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    if servers.len() < from.min {
        let count = servers.len();
        return Err(format!(
            "the answer has {count} servers, fewer than the {} of `min`",
            from.min
        ));
    }
    // The first of the order, so that an answer in another order is the same.
    let left_out = servers.len().saturating_sub(from.max);
    servers.truncate(from.max);
    Ok(AcceptedServers { servers, omitted: left_out })
}

#[cfg(test)]
mod tests {
    use model::config::DiscoverySource;

    use super::*;

    fn one(n: usize) -> DiscoveredServer {
        let address = format!("10.0.{}.{}:80", n / 250, n % 250 + 1);
        DiscoveredServer { address, name: None, weight: None }
    }

    #[test]
    fn few_many_and_double_servers() {
        let from = DiscoveryConfig { place: DiscoverySource::File("/x".into()), min: 2, max: 256 };
        assert!(check_answer(Vec::new(), &from).is_err());
        assert!(check_answer(vec![one(1), one(1)], &from).unwrap_err().contains("fewer"));
        let many = check_answer((0..5_000).map(one).collect(), &from).unwrap();
        assert_eq!((many.servers.len(), many.omitted), (256, 4_744));
        let back = check_answer((0..5_000).rev().map(one).collect(), &from).unwrap();
        assert_eq!(back, many, "the order of the answer does not matter");
    }
}
