//! What an answer of a source is worth: sorted, without doubles, neither too few servers nor too many. Pure.

use model::config::Discovery;

use crate::reconcile::overlay::FoundServer;

/// An answer that is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Believed {
    /// In an order that does not depend on the answer's.
    pub servers: Vec<FoundServer>,
    /// Servers that were too many.
    pub left_out: usize,
}

/// Believes an answer, or says why not.
pub(super) fn believe(mut servers: Vec<FoundServer>, from: &Discovery) -> Result<Believed, String> {
    servers.sort();
    servers.dedup_by(|a, b| a.address == b.address || (a.name.is_some() && a.name == b.name));
    if servers.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    if servers.len() < from.min {
        let found = servers.len();
        return Err(format!(
            "the answer has {found} servers, fewer than the {} of `min`",
            from.min
        ));
    }
    // The first of the order, so that an answer in another order is the same.
    let left_out = servers.len().saturating_sub(from.max);
    servers.truncate(from.max);
    Ok(Believed { servers, left_out })
}

#[cfg(test)]
mod tests {
    use model::config::Place;

    use super::*;

    fn one(n: usize) -> FoundServer {
        let address = format!("10.0.{}.{}:80", n / 250, n % 250 + 1);
        FoundServer { address, name: None, weight: None }
    }

    #[test]
    fn few_many_and_double_servers() {
        let from = Discovery { place: Place::File("/x".into()), min: 2, max: 256 };
        assert!(believe(Vec::new(), &from).is_err());
        assert!(believe(vec![one(1), one(1)], &from).unwrap_err().contains("fewer"));
        let many = believe((0..5_000).map(one).collect(), &from).unwrap();
        assert_eq!((many.servers.len(), many.left_out), (256, 4_744));
        let back = believe((0..5_000).rev().map(one).collect(), &from).unwrap();
        assert_eq!(back, many, "the order of the answer does not matter");
    }
}
