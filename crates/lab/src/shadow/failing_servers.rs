//! The parts of a run in which stand-in servers fail: which of them, and what is asked meanwhile.
//!
//! Pure. Servers that fail in their answers are ordered to by requests of the corpus.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::input::CorpusSize;
use super::plan::ShadowPlan;
use super::request::{ShadowPayload, ShadowRequest};

const FIRST_DEAD: &str = "the first server of each pool is dead";
const ALL_DEAD: &str = "all servers but those for backup are dead";

/// Whether a request is sent while servers refuse connections. The corpus has it besides, while none does.
pub fn meets_dead_servers(request: &ShadowRequest) -> bool {
    [FIRST_DEAD, ALL_DEAD].contains(&request.purpose.as_str())
}

/// A part of the run in which servers refuse connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailurePhase {
    /// Why its requests are sent.
    pub purpose: &'static str,
    pub dead: Vec<SocketAddr>,
}

/// The phases of a plan, in their order. Servers that are dead stay dead.
pub fn plan_failures(plan: &ShadowPlan) -> Vec<FailurePhase> {
    let mut pools: BTreeMap<&str, Vec<SocketAddr>> = BTreeMap::new();
    for server in &plan.servers {
        for member in server.pools.iter().filter(|member| !member.backup) {
            pools.entry(member.pool.as_str()).or_default().push(server.address);
        }
    }
    let shared = pools.values().filter(|servers| servers.len() > 1);
    let mut first: Vec<SocketAddr> =
        shared.filter_map(|servers| servers.first().copied()).collect();
    let mut all: Vec<SocketAddr> = pools.into_values().flatten().collect();
    for list in [&mut first, &mut all] {
        list.sort_unstable();
        list.dedup();
    }
    let phases = [
        FailurePhase { purpose: FIRST_DEAD, dead: first },
        FailurePhase { purpose: ALL_DEAD, dead: all },
    ];
    phases.into_iter().filter(|phase| !phase.dead.is_empty()).collect()
}

/// What is asked in a phase: each path of each listener's first host, and bytes.
pub fn failure_requests(
    corpus: &[ShadowRequest],
    phase: &FailurePhase,
    size: CorpusSize,
) -> Vec<ShadowRequest> {
    let most = if size == CorpusSize::Quick { 6 } else { 24 };
    let mut sent: BTreeMap<SocketAddr, usize> = BTreeMap::new();
    let mut out = Vec::new();
    for request in corpus {
        let fits = match &request.payload {
            ShadowPayload::Http(_) => request.purpose == "host and path",
            ShadowPayload::Bytes | ShadowPayload::TlsThrough => true,
        };
        let count = sent.entry(request.to).or_default();
        if fits && *count < most && out.len() < most * 4 {
            *count += 1;
            out.push(ShadowRequest { purpose: phase.purpose.to_owned(), ..request.clone() });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use convert::dialect::Dialect;

    use super::super::corpus::build_corpus;
    use super::super::inventory::SourceInventory;
    use super::*;

    const CONVERTED: &str = "[service.web]\nlisten = \"0.0.0.0:80\"\nforward = \"http\"\npool = \"a\"\n\
         [pool.a]\nservers = [\"10.0.0.1:80\", \"10.0.0.2:80\", { name = \"b\", address = \"10.0.0.3:80\", backup = true }]\n\
         probe = { tcp = true, interval = \"500ms\", fall = 2 }\ntimeout = { first-byte = \"3s\" }\n\
         [pool.b]\nservers = [\"10.0.0.4:80\"]\ntimeout = { first-byte = \"1m\" }\nprobe = \"off\"\n";

    #[test]
    fn first_servers_die_and_then_all_but_those_for_backup() {
        let inventory = SourceInventory::read("", Dialect::Haproxy);
        let plan = ShadowPlan::new(CONVERTED, &inventory);
        let phases = plan_failures(&plan);
        let dead = |phase: &FailurePhase| {
            phase.dead.iter().map(|one| one.ip().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(dead(&phases[0]), "10.0.0.1");
        assert_eq!(dead(&phases[1]), "10.0.0.1 10.0.0.2 10.0.0.4");
        let corpus = build_corpus(&plan, CONVERTED, &inventory, CorpusSize::Quick);
        let asked = failure_requests(&corpus, &phases[0], CorpusSize::Quick);
        assert!(!asked.is_empty() && asked.iter().all(|one| one.purpose == phases[0].purpose));
        assert!(plan_failures(&ShadowPlan::default()).is_empty());
    }
}
